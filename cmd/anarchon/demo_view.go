package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
)

// view shows the demo: sentences as they come, and what each instance does now.
type view interface {
	say(line string)
	lanes(text string)
	interrupted() <-chan struct{} // closed when the user wants to stop
	close()
}

// plainView prints sentences only.
type plainView struct{ out io.Writer }

func newPlainView(out io.Writer) view             { return &plainView{out} }
func (v *plainView) say(line string)              { fmt.Fprintln(v.out, line) }
func (v *plainView) lanes(string)                 {}
func (v *plainView) interrupted() <-chan struct{} { return nil }
func (v *plainView) close()                       {}

// liveView keeps the instances' lanes below the sentences.
type liveView struct {
	program *tea.Program
	stop    chan struct{}
	done    chan struct{}
}

func newLiveView() view {
	v := &liveView{stop: make(chan struct{}), done: make(chan struct{})}
	v.program = tea.NewProgram(screen{stop: v.stop}, tea.WithoutSignalHandler())
	go func() {
		defer close(v.done)
		// Without a screen the demo goes on; its end is printed all the same.
		_, _ = v.program.Run()
	}()
	return v
}

func (v *liveView) say(line string)              { v.program.Println(colour(line)) }
func (v *liveView) lanes(text string)            { v.program.Send(lanesMsg(text)) }
func (v *liveView) interrupted() <-chan struct{} { return v.stop }

func (v *liveView) close() {
	v.program.Quit()
	select {
	case <-v.done:
	case <-time.After(2 * time.Second):
		v.program.Kill()
	}
}

type lanesMsg string

// screen is the part that is redrawn.
type screen struct {
	text    string
	stop    chan struct{}
	stopped bool
}

func (s screen) Init() tea.Cmd { return nil }

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case lanesMsg:
		s.text = string(msg)
	case tea.KeyMsg:
		if k := msg.String(); (k == "ctrl+c" || k == "q") && !s.stopped {
			s.stopped = true
			close(s.stop)
		}
	}
	return s, nil
}

func (s screen) View() string {
	if s.text == "" {
		return ""
	}
	return "\n" + s.text + faint.Render("Ctrl-C stops") + "\n"
}

var (
	faint  = lipgloss.NewStyle().Faint(true)
	strong = map[string]lipgloss.Style{
		"RUNS":       lipgloss.NewStyle().Foreground(lipgloss.Color("2")),
		"TAKES OVER": lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("6")),
		"kill -9":    lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("1")),
		"LOST":       lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("1")),
		"FAILED":     lipgloss.NewStyle().Foreground(lipgloss.Color("1")),
		"skips":      lipgloss.NewStyle().Foreground(lipgloss.Color("3")),
	}
)

func colour(line string) string {
	for word, style := range strong {
		if strings.Contains(line, word) {
			return style.Render(line)
		}
	}
	return line
}
