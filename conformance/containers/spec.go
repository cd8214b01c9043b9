package containers

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Spec says which server to start.
type Spec struct {
	// Image is a name of conformance/images, such as "redis-8.6", or a reference,
	// such as "redis:8.6".
	Image string
	// Command replaces the image's, e.g. to set options of the server.
	Command []string
	// Env is the server's environment.
	Env map[string]string
	// Files are put into the container before it starts, by their absolute paths.
	Files map[string]string
	// Tmpfs are file systems in memory, by where they are mounted, each with its
	// options, such as "size=16m". They are empty whenever the container starts.
	Tmpfs map[string]string
	// Port is the port that the server listens on, over TCP.
	Port int
	// Ready is a piece of the server's log that says that it serves, where an open
	// port does not say it.
	Ready string
	// Space and Connections say how the server is made to run out of them; zero: not
	// at all.
	Space, Connections Shortage
}

// OverrideVariable returns the environment variable that replaces an image.
func OverrideVariable(image string) string {
	return "ANARCHON_IMAGE_" + strings.ToUpper(notWord.ReplaceAllString(image, "_"))
}

var notWord = regexp.MustCompile(`[^A-Za-z0-9]`)

// reference returns what the engine calls an image.
func reference(image string) (string, error) {
	if image == "" {
		return "", fmt.Errorf("a container needs an image")
	}
	if override := os.Getenv(OverrideVariable(image)); override != "" {
		return override, nil
	}
	if strings.ContainsAny(image, ":/") {
		return image, nil
	}
	return "anarchon/" + image + ":local", nil
}
