//go:build race

package core

// RaceDetector says that this test binary is several times slower than the code.
const RaceDetector = true
