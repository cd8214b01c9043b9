// Command tamper changes a store past the plugin, as a later version of it might
// have, or a stranger: the conformance suite asks for that to judge how formats and
// damage are treated. Its
// input is the plugin's options, as JSON; its argument says what to do.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tamper:", err)
		os.Exit(1)
	}
}

func run() error {
	var options struct{ Folder string }
	if err := json.NewDecoder(os.Stdin).Decode(&options); err != nil {
		return err
	}
	if len(os.Args) != 2 {
		return fmt.Errorf("one argument is needed: dump, unknown, newer or damage")
	}
	switch what := os.Args[1]; what {
	case "dump":
		return eachFile(options.Folder, func(path, text string) error {
			for line := range strings.Lines(text) {
				fmt.Printf("%s: %s\n", filepath.Base(path), strings.TrimSuffix(line, "\n"))
			}
			return nil
		})
	case "unknown":
		return eachFile(options.Folder, addFields)
	case "newer":
		return os.WriteFile(filepath.Join(options.Folder, "format"), []byte("2\n"), 0o600)
	case "damage":
		return eachFile(options.Folder, damage)
	default:
		return fmt.Errorf("unknown argument %q; it must be dump, unknown, newer or damage", what)
	}
}

// eachFile reads all that the store holds. Locks and links are no content.
func eachFile(root string, do func(path, text string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "lock" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return do(path, string(text))
	})
}

// fields counts them, so that each is found again by its name.
var fields int

// addFields puts a field into each object of a job's file: the job, its runs and
// their attempts. Objects begin with a brace before a name.
func addFields(path, text string) error {
	if !strings.HasSuffix(path, ".job") {
		return nil
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `{"`)
		b.WriteString(before)
		if !found {
			break
		}
		fields++
		field := fmt.Sprintf(`"later%d":{"a":[1]}`, fields)
		fmt.Println(field)
		b.WriteString("{" + field + `,"`)
		text = after
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

// damages are what a stranger, or a disk, might leave of a job's file. The suite has
// few jobs in the store then, so they are few.
var damages = []struct {
	name string
	of   func(text string) string
}{
	{"half a record", func(text string) string { return text[:len(text)/2] }},
	{"a record without fields", func(string) string { return "{}\n" }},
	{"a text for a number", func(text string) string { return strings.Replace(text, `"newestMs":`, `"newestMs":"soon","was":`, 1) }},
}

// damaged counts the files, so that each kind of damage has its turn.
var damaged int

// damage makes a job's file unreadable.
func damage(path, text string) error {
	if !strings.HasSuffix(path, ".job") {
		return nil
	}
	d := damages[damaged%len(damages)]
	damaged++
	fmt.Printf("%s: %s\n", filepath.Base(path), d.name)
	return os.WriteFile(path, []byte(d.of(text)), 0o600)
}
