// Command protogen compiles .proto files and runs protoc-gen-go and
// protoc-gen-go-grpc on them, with Go modules only: the compiler is a library,
// the generators are tools of this module. On request it writes Python messages
// too.
//
// It must be run in this module's directory. The output is a function of the
// .proto files and go.sum.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	root := flag.String("proto", ".", "directory that imports and file names are relative to")
	out := flag.String("out", ".", "directory of the module that the output belongs to")
	module := flag.String("module", "", "path of that module; it is cut off go_package")
	python := flag.String("python", "", "directory for Python messages; empty: none are made")
	flag.Parse()
	if flag.NArg() == 0 || *module == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := generate(*root, *out, *module, *python, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func generate(root, out, module, python string, files []string) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the Go code
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: proto.String("module=" + module)}
	seen := map[string]bool{}
	for _, f := range compiled {
		req.ProtoFile = appendDeps(req.ProtoFile, f, seen)
	}
	for _, tool := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := run(tool, req, out); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	if python == "" {
		return nil
	}
	for _, f := range compiled {
		if err := writePython(python, protoutil.ProtoFromFileDescriptor(f)); err != nil {
			return err
		}
	}
	return nil
}

// appendDeps appends f after everything that it imports, as generators expect.
func appendDeps(list []*descriptorpb.FileDescriptorProto, f protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[f.Path()] {
		return list
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		list = appendDeps(list, f.Imports().Get(i).FileDescriptor, seen)
	}
	return append(list, protoutil.ProtoFromFileDescriptor(f))
}

func run(tool string, req *pluginpb.CodeGeneratorRequest, out string) error {
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", tool)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(raw, &resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return fmt.Errorf("%s", resp.GetError())
	}
	for _, f := range resp.File {
		path := filepath.Join(out, filepath.FromSlash(f.GetName()))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
