package postgresstore

import (
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/anarchon-go/anarchon/core/store"
)

// parse makes the driver's configuration of the options and, where they are
// silent, of libpq's environment. Its errors hold no password.
func (s *settings) parse() (*pgxpool.Config, error) {
	text, err := s.connString()
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, s.parseError(err)
	}
	return cfg, nil
}

// connString is the url with the options that replace parts of it.
func (s *settings) connString() (string, error) {
	type part struct{ name, value string }
	var parts []part
	for _, p := range []part{
		{"password", s.password}, {"sslmode", s.sslMode}, {"sslrootcert", s.sslRootCert},
		{"sslcert", s.sslCert}, {"sslkey", s.sslKey},
	} {
		if p.value != "" {
			parts = append(parts, p)
		}
	}
	if !isURL(s.url) {
		text := s.url
		quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
		for _, p := range parts {
			text += " " + p.name + "='" + quote.Replace(p.value) + "'"
		}
		return strings.TrimSpace(text), nil
	}
	// What follows a # is no part of a URL for the driver.
	if strings.Contains(s.url, "#") {
		return "", s.invalidURL(`without "#"; write it as %23, or give the password by the option password`)
	}
	separator := "?"
	if strings.Contains(s.url, "?") {
		separator = "&"
	}
	text := s.url
	for _, p := range parts {
		text += separator + p.name + "=" + strings.ReplaceAll(url.QueryEscape(p.value), "+", "%20")
		separator = "&"
	}
	return text, nil
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// parseError says what is wrong without quoting what was parsed: the driver masks
// passwords only where it recognizes them.
func (s *settings) parseError(err error) error {
	rule := "as libpq reads it"
	if isURL(s.url) {
		rule += "; in user and password write special characters as %XX, or give the password by the option password"
	}
	var file *fs.PathError
	var parse *pgconn.ParseConfigError
	switch {
	case errors.As(err, &file):
		rule += ": " + file.Error()
	case errors.As(err, &parse):
		rule += ": " + message(parse)
	}
	return s.invalidURL(rule)
}

// message is the part of the driver's error between the connection string, which
// comes before it, and the cause, which may quote from it.
func message(e *pgconn.ParseConfigError) string {
	text := e.Error()
	if cause := e.Unwrap(); cause != nil {
		text = strings.TrimSuffix(text, " ("+cause.Error()+")")
	}
	return text[strings.LastIndex(text, "`")+1+len(": "):]
}

func (s *settings) invalidURL(rule string) error {
	return &store.InvalidError{Field: "url", Value: "(secret)", Rule: rule}
}
