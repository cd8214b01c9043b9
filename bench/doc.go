// Package bench compares parts of anarchon with their peers. It is a module of its own, so that the peers are no dependencies of
// the services that embed anarchon. All figures are taken in one run and are to be read as ratios.
package bench
