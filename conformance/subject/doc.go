// Package subject opens what a conformance run judges: plugin processes (found,
// built if need be, configured and launched) and, for tests of the kit, a store
// inside this process.
package subject
