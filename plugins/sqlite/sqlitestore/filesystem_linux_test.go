//go:build cgo

package sqlitestore

import (
	"os"
	"testing"
)

func TestByMagic(t *testing.T) {
	for magic, want := range map[int64]fitness{
		0x6969: fitNetwork, 0xff534d42: fitNetwork, -0xacb2be: fitNetwork, 0x01021997: fitNetwork, 0x65735546: fitNetwork,
		0x01021994: fitVolatile, 0x794c7630: fitLayer, 0xef53: fitGood, 0x12345: fitGood,
	} {
		if f := byMagic(magic); f.fit != want || f.name == "" {
			t.Errorf("%#x: %+v; want fitness %d", magic, f, want)
		}
	}
}

func TestStatFilesystem(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("no /dev/shm here")
	}
	if f, err := statFilesystem("/dev/shm"); err != nil || f.fit != fitVolatile {
		t.Errorf("/dev/shm: %+v, %v; want tmpfs", f, err)
	}
	if f, err := statFilesystem("/nowhere at all"); err == nil {
		t.Errorf("got %+v for a directory that is not there", f)
	}
}
