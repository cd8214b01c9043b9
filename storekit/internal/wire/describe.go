package wire

import (
	"fmt"
	"math"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// Description encodes a description.
func Description(d store.Description) *pb.Description {
	settings := make([]*pb.Setting, len(d.Settings))
	for i, s := range d.Settings {
		settings[i] = &pb.Setting{Name: text(s.Name), Value: text(s.Value)}
	}
	return &pb.Description{
		Kind:     pb.Kind(d.Kind),
		Strategy: text(d.Strategy),
		Memory:   &pb.Memory{Forever: d.Memory.Forever, WindowMs: d.Memory.Window.Milliseconds(), Runs: int64(d.Memory.Runs)},
		Clock:    pb.Clock(d.Clock),
		Fenced:   d.Fenced,
		History:  d.History,
		Product:  text(d.Product),
		Settings: settings,
		Warnings: texts(d.Warnings),
		Format:   small(d.Format),
	}
}

// ToDescription decodes one. An error means that the peer breaks the protocol.
func ToDescription(p *pb.Description) (store.Description, error) {
	kind, kindErr := outOf("kind", p.GetKind(), lastKind)
	clock, clockErr := outOf("clock", p.GetClock(), lastClock)
	m := p.GetMemory()
	err := firstOf(
		kindErr,
		clockErr,
		atLeast("memory window", m.GetWindowMs(), 0),
		atLeast("memory runs", m.GetRuns(), 0),
		atLeast("format", int64(p.GetFormat()), 0),
	)
	if err != nil {
		return store.Description{}, fmt.Errorf("it described itself with %w", err)
	}
	d := store.Description{
		Kind:     kind,
		Strategy: p.GetStrategy(),
		Memory: store.Memory{
			Forever: m.GetForever(),
			Window:  duration(m.GetWindowMs()),
			Runs:    int(min(m.GetRuns(), math.MaxInt32)),
		},
		Clock:    clock,
		Fenced:   p.GetFenced(),
		History:  p.GetHistory(),
		Product:  p.GetProduct(),
		Warnings: p.GetWarnings(),
		Format:   int(p.GetFormat()),
	}
	for _, s := range p.GetSettings() {
		d.Settings = append(d.Settings, store.Setting{Name: s.GetName(), Value: s.GetValue()})
	}
	return d, nil
}
