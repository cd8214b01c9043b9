package storekit

import (
	"bufio"
	"bytes"
	"io"
)

// maxLine is the length from which a line of a plugin's output is cut, in bytes.
const maxLine = 64 << 10

// readLines calls emit for each line of r, without its line break, until r ends
// or fails. Of a longer line than maxLine only the beginning is emitted; the rest
// is read and dropped, so that the writer is never blocked and memory stays
// bounded. emit must not keep the slice.
func readLines(r io.Reader, emit func(line []byte, cut bool)) {
	br := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := br.ReadSlice('\n')
		cut := err == bufio.ErrBufferFull
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			emit(line, cut)
		}
		for err == bufio.ErrBufferFull {
			_, err = br.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// lineWriter is a writer whose lines are emitted as readLines does. It is for one
// goroutine.
type lineWriter struct {
	emit    func(line []byte, cut bool)
	buf     []byte
	dropped bool // the rest of the present line is dropped
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		p = rest
		if !w.dropped {
			room := maxLine - len(w.buf)
			w.buf = append(w.buf, part[:min(len(part), room)]...)
			if full := len(w.buf) == maxLine; full || ended {
				if line := bytes.TrimRight(w.buf, "\r"); len(line) > 0 {
					w.emit(line, full && !ended || len(part) > room)
				}
				w.buf, w.dropped = w.buf[:0], full
			}
		}
		if ended {
			w.dropped = false
		}
	}
	return n, nil
}
