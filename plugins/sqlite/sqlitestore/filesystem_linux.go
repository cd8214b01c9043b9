//go:build cgo

package sqlitestore

import (
	"fmt"
	"io/fs"
	"syscall"
)

// known lists the magic numbers of statfs(2) that matter here.
var known = map[int64]filesystem{
	0x6969:     {"NFS", fitNetwork},
	0x517b:     {"SMB", fitNetwork},
	0xfe534d42: {"SMB", fitNetwork},
	0xff534d42: {"CIFS", fitNetwork},
	0x564c:     {"NCP", fitNetwork},
	0x01021997: {"9p", fitNetwork},
	0x65735546: {"FUSE", fitNetwork},
	0x5346414f: {"AFS", fitNetwork},
	0x6b414653: {"AFS", fitNetwork},
	0x73757245: {"Coda", fitNetwork},
	0x00c36400: {"Ceph", fitNetwork},
	0x0bd00bd0: {"Lustre", fitNetwork},
	0x01161970: {"GFS2", fitNetwork},
	0x7461636f: {"OCFS2", fitNetwork},
	0x47504653: {"GPFS", fitNetwork},
	0x19830326: {"BeeGFS", fitNetwork},
	0x786f4256: {"a VirtualBox shared folder", fitNetwork},
	0xbacbacbc: {"a VMware shared folder", fitNetwork},
	0x7c7c6673: {"a Parallels shared folder", fitNetwork},
	0x01021994: {"tmpfs", fitVolatile},
	0x858458f6: {"ramfs", fitVolatile},
	0x794c7630: {"overlayfs", fitLayer},
	0x61756673: {"aufs", fitLayer},
	0xef53:     {"ext", fitGood},
	0x58465342: {"XFS", fitGood},
	0x9123683e: {"btrfs", fitGood},
	0x2fc12fc1: {"ZFS", fitGood},
	0xf2f52010: {"F2FS", fitGood},
	0xca451a4e: {"bcachefs", fitGood},
}

// statFilesystem tells the kind of file system that dir lies on.
func statFilesystem(dir string) (filesystem, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return filesystem{}, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return byMagic(int64(st.Type)), nil
}

// byMagic judges what it does not know as good: most are local disks.
func byMagic(magic int64) filesystem {
	magic &= 0xffffffff // the kernel's word is signed on some architectures
	if f, ok := known[magic]; ok {
		return f
	}
	return filesystem{fmt.Sprintf("type %#x", magic), fitGood}
}

func hardLinks(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
