//go:build !linux

package main

// checkFilesystem can't tell file systems apart here, and says so.
func checkFilesystem(string) (kind string, warnings []string, err error) {
	return "an unknown file system", []string{"the file system could not be told; make sure that the folder is on a disk of this host"}, nil
}
