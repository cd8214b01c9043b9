package storekit

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// actAs makes this process a plugin, or what pretends to be one.
func actAs(as string) {
	switch as {
	case "plugin":
		Serve(newFake)
	case "model":
		Serve(newModel)
	case "noise first":
		fmt.Println("Welcome to my plugin!")
		Serve(newFake)
	case "huge first line":
		fmt.Println(strings.Repeat("x", 200_000))
		Serve(newFake)
	case "odd stderr":
		for _, line := range oddLines {
			fmt.Fprintln(os.Stderr, line)
		}
		Serve(newFake)
	case "exit":
		fmt.Fprintln(os.Stderr, "libfoo.so.3: not today")
		os.Exit(4)
	case "runtime panic":
		fmt.Fprintln(os.Stderr, "warming up")
		go func() { panic("boom at start") }()
		select {}
	case "hang":
		fmt.Fprintln(os.Stderr, "looking for my keys")
		time.Sleep(time.Hour)
	case "goes deaf":
		service := newServer(newFake(Env{Logger: slog.Default()}), slog.Default())
		plugin.Serve(&plugin.ServeConfig{
			HandshakeConfig:  handshake,
			VersionedPlugins: versions(service),
			GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
				s := grpc.NewServer(opts...)
				stopServing = func() { go s.Stop() }
				return s
			},
		})
		time.Sleep(time.Hour)
	case "version 2":
		plugin.Serve(&plugin.ServeConfig{
			HandshakeConfig:  handshake,
			VersionedPlugins: map[int]plugin.PluginSet{2: {dispensed: glue{server: newServer(newFake(Env{}), slog.Default())}}},
			GRPCServer:       plugin.DefaultGRPCServer,
		})
	case "other cookie":
		plugin.Serve(&plugin.ServeConfig{
			HandshakeConfig: plugin.HandshakeConfig{MagicCookieKey: "OTHER", MagicCookieValue: "x"},
			Plugins:         plugin.PluginSet{},
			GRPCServer:      plugin.DefaultGRPCServer,
		})
	case "tcp":
		fmt.Println("1|1|tcp|127.0.0.1:1|grpc|")
		time.Sleep(time.Hour)
	case "no socket":
		fmt.Println("1|1|unix|/nonexistent/plugin.sock|grpc|")
		time.Sleep(time.Hour)
	case "no TLS":
		os.Unsetenv("PLUGIN_CLIENT_CERT")
		Serve(newFake)
	default:
		if ends, ok := strings.CutPrefix(as, "host, ends by "); ok {
			actAsHost(ends)
			return
		}
		if how, ok := strings.CutPrefix(as, "embeds"); ok {
			actAsEmbedder(strings.TrimSpace(how))
			return
		}
		fmt.Fprintf(os.Stderr, "unknown role %q\n", as)
		os.Exit(9)
	}
}

// stopServing ends the server of a plugin whose process lives on.
var stopServing func()

// oddLines are lines on stderr that a host must survive.
var oddLines = []string{
	`{"@message":1}`, // makes go-plugin 1.8.0 panic
	`{"@message":"fine","@level":7,"@timestamp":[]}`,
	`{"@level":"warn","@message":"careful","count":3,"deep":{"a":[1,{"b":null}]}}`,
	`{"@message"`,
	`[1,2]`,
	`null`,
	"\x00\xff\xfe not text",
	"plain words",
	strings.Repeat("long ", 40_000),
	`{"@message":"` + strings.Repeat("x", 100_000) + `"}`,
}

// actAsHost opens a plugin, tells its pid and the socket's directory, and ends in
// its way when its stdin does.
func actAsHost(ends string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c, err := Open(context.Background(), Plugin{Path: self, Env: []string{envActAs + "=plugin", "GORACE=atexit_sleep_ms=0"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	go func() { // calls are in flight when it ends
		for {
			c.Claim(context.Background(), claim("slow"))
		}
	}()
	fmt.Println(c.PID(), c.current().dir.path)
	bufio.NewReader(os.Stdin).ReadString('\n')
	switch ends {
	case "panic":
		go panic("a host's bug")
	case "exit":
		os.Exit(0)
	case "return":
		return
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "abort":
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
	}
	select {}
}
