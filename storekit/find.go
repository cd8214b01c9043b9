package storekit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// find returns the absolute path of the plugin's file. The error lists every path
// that was tried and says what to do.
func find(p Plugin) (string, error) {
	target := p.target()
	switch {
	case target == "":
		return "", errors.New("neither Name nor Path is set; set Name to a plugin's name, as \"sqlite\", or Path to its file")
	case strings.ContainsRune(target, filepath.Separator):
		path, err := filepath.Abs(target)
		if err != nil {
			return "", err
		}
		if err := checkExecutable(path); err != nil {
			return "", err
		}
		return path, nil
	}
	var tried []string
	for _, dir := range searchDirs(p) {
		for _, file := range []string{BinaryPrefix + target, target} {
			path, err := filepath.Abs(filepath.Join(dir, file))
			if err != nil {
				return "", err
			}
			err = checkExecutable(path)
			if err == nil {
				return path, nil
			}
			if file == target && errors.Is(err, errDirectory) {
				continue // a directory that happens to have the name, as plugins/sqlite
			}
			tried = append(tried, "\t"+err.Error())
		}
	}
	remedy := "put the plugin into one of these directories, or set Dirs, $" + envDirs + " or Path"
	if !p.SearchPATH {
		remedy += " (SearchPATH is off)"
	}
	remedy += "; " + embeddedWords()
	return "", fmt.Errorf("not found; tried\n%s\n%s", strings.Join(tried, "\n"), remedy)
}

func searchDirs(p Plugin) []string {
	dirs := append([]string(nil), p.Dirs...)
	dirs = append(dirs, filepath.SplitList(os.Getenv(envDirs))...)
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	if p.SearchPATH {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if filepath.IsAbs(dir) { // an empty or relative entry means "wherever I am": never
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

var errDirectory = errors.New("is a directory, not a program")

func checkExecutable(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: %w", path, os.ErrNotExist)
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s: %w; build it first (go build -o FILE %s) if it holds a plugin's source", path, errDirectory, path)
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s: is not a regular file", path)
	case st.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s: is not executable (chmod +x)", path)
	}
	return nil
}

// maxFileValue bounds a value that is read from a file.
const maxFileValue = 1 << 20

// resolveFile returns the contents of the file if s is "@FILE", and s otherwise.
func resolveFile(s string) (string, error) {
	name, ok := strings.CutPrefix(s, "@")
	if !ok {
		return s, nil
	}
	if strings.HasPrefix(name, "@") {
		return name, nil
	}
	if name == "" {
		return "", errors.New("\"@\" names no file; write \"@FILE\", or \"@@\" for a plain \"@\"")
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the file of its value: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileValue+1))
	if err != nil {
		return "", fmt.Errorf("the file of its value: %w", err)
	}
	if len(b) > maxFileValue {
		return "", fmt.Errorf("the file of its value, %s, is longer than %d bytes", name, maxFileValue)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}
