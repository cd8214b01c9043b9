//go:build !race

package core

// raceDetector says that this test binary is several times slower than the code.
const raceDetector = false
