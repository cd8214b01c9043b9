package storekit

import (
	"time"

	plugin "github.com/hashicorp/go-plugin"
)

// ProtocolVersion is the version of the plugin protocol that this package speaks
// on both sides. A break of the protocol gets a new number and a new proto
// package; everything else is added in place.
const ProtocolVersion = 1

// BinaryPrefix is what the file name of a plugin begins with: the plugin "sqlite"
// is looked for as "anarchon-plugin-sqlite".
const BinaryPrefix = "anarchon-plugin-"

// The environment of a plugin, besides go-plugin's own variables. docs/protocol.md
// has the whole list for authors in other languages.
const (
	cookieKey   = "ANARCHON_PLUGIN"                // its value tells a plugin that a host started it
	cookieValue = "b7b6fb0d-anarchon-store-plugin" // not a secret: it prevents accidents only
	envLifeline = "ANARCHON_LIFELINE_FD"           // number of the descriptor whose EOF means that the host is gone
	envLogLevel = "ANARCHON_LOG_LEVEL"             // debug, info, warn or error: what the host's logger takes
	envEmbedded = "ANARCHON_EMBEDDED"              // tells a program which of its embedded plugins to be
	envDirs     = "ANARCHON_PLUGIN_DIR"            // the host's: a list of directories with plugins
	envSocket   = "PLUGIN_UNIX_SOCKET_DIR"         // go-plugin's: where the plugin makes its socket
	dispensed   = "store"                          // go-plugin's name of our service

	// socketDirPrefix begins the name of the directory that a host makes for a socket;
	// digits follow.
	socketDirPrefix = "anarchon-s"
)

// Bounds of the transport, the same on both sides.
const (
	maxMessage = 16 << 20 // bytes of one gRPC message
	maxBatch   = 1024     // items of one request
	maxAnswer  = 8 << 20  // bytes of one page of history; a bigger one is asked for again, shorter

	// window is the flow control's, in bytes. It is fixed: to find the best one gRPC
	// would send pings with every call, which small calls feel.
	window = 4 << 20
)

// How long a plugin takes to close its store before it exits regardless: when its
// host asks it to stop, and when it has lost its host. The second is shorter: two
// seconds after a host is gone, none of its plugins may be there.
const (
	stopGrace     = 5 * time.Second
	lifelineGrace = 1500 * time.Millisecond
)

var handshake = plugin.HandshakeConfig{MagicCookieKey: cookieKey, MagicCookieValue: cookieValue}
