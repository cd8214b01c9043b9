package scenarios

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// TestProxyCutsAndMends: what is sent while the link is cut arrives when it is mended.
func TestProxyCutsAndMends(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Fprintln(c, lines.Text())
				}
			}()
		}
	}()
	p, err := newProxy(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	ask := func(text string, within time.Duration) (string, error) {
		if text != "" {
			fmt.Fprintln(c, text)
		}
		if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		return answers.ReadString('\n')
	}
	if got, err := ask("one", patience); got != "one\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	p.cut()
	p.cut() // twice does no harm
	if got, err := ask("two", 200*time.Millisecond); err == nil {
		t.Errorf("cut off, and yet %q came", got)
	}
	p.mend()
	if got, err := ask("", patience); got != "two\n" {
		t.Errorf("mended, it said %q, %v", got, err)
	}
	p.close()
	if got, err := ask("three", patience); err == nil {
		t.Errorf("closed, and yet %q came", got)
	}
}
