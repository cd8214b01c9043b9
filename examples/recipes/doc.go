// Package recipes holds answers to what users of a scheduler ask most: small pieces to
// copy, each tested. docs/embedding.md tells when to use which.
package recipes
