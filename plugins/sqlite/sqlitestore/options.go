package sqlitestore

import (
	"time"

	"github.com/anarchon-go/anarchon/storekit"
)

// Version is the plugin's version.
const Version = "0.1.0"

// Format is the newest store format that this version reads and writes. Within
// a major version a format only grows.
const Format = 1

const (
	defaultNamespace = "default"
	defaultBusy      = 5 * time.Second
)

// Info says what the plugin is. It does no I/O.
func Info() storekit.Info {
	low, high := int64(1), int64(60_000)
	return storekit.Info{
		Name:    "sqlite",
		Version: Version,
		Options: []storekit.Option{
			{
				Name: "path", Type: storekit.TypeString, Required: true,
				Help: "The database file, made if missing; a relative path counts from the working directory of the service. Its directory must exist, on a disk of this host.",
			},
			{
				Name: "namespace", Type: storekit.TypeString, Default: defaultNamespace,
				Help: "Services that share a file don't see the jobs of another namespace; the default is good for one service per file.",
			},
			{
				Name: "busyTimeout", Type: storekit.TypeDuration, Default: defaultBusy.String(), Min: &low, Max: &high,
				Help: "How long a call waits for the file's write lock, at most the call's own deadline; the default outlasts a short stall of the disk.",
			},
			{
				Name: "create", Type: storekit.TypeBool, Default: "true",
				Help: "Make the file and its tables if they are not there; false refuses to, for programs that only look.",
			},
		},
	}
}
