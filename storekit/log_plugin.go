package storekit

import (
	"io"
	"log/slog"
	"strings"
	"time"
)

// pluginLogger writes JSON lines with the keys that any go-plugin host reads.
func pluginLogger(w io.Writer, level string) *slog.Logger {
	var least slog.Level
	if least.UnmarshalText([]byte(level)) != nil {
		least = slog.LevelInfo
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: least,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				if t, ok := a.Value.Any().(time.Time); ok {
					return slog.String("@timestamp", t.Format("2006-01-02T15:04:05.000000Z07:00"))
				}
			case slog.LevelKey:
				if l, ok := a.Value.Any().(slog.Level); ok {
					return slog.String("@level", strings.ToLower(l.String()))
				}
			case slog.MessageKey:
				if a.Value.Kind() == slog.KindString {
					return slog.String("@message", a.Value.String())
				}
			}
			return a
		},
	}))
}
