package mutants

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// files are stores by name, each with a format and with fields that a later
// version wrote. The rules are the model's, which has neither.
type files struct {
	make func() *model.Store
	bend fileBend

	mu     sync.Mutex
	byName map[string]*file
}

// fileBend is what is wrong with the way in which the stores are opened and
// written.
type fileBend uint8

const (
	filesGood       fileBend = iota
	openNewer                // a newer format is not looked at
	touchNewer               // it is refused after the set-up was made anew
	dropUnknown              // a finish writes the record whole
	setUpInTwoSteps          // two who set it up at once each make their own
	damageIsNone             // a record that can't be read is taken for none
	damageUnclaimed          // a claim takes a record that can't be read for none
)

type file struct {
	*model.Store
	format  int
	unknown []string
	touched int
	jobs    map[string]bool // those that a claim named; with damaged their records can't be read
	damaged map[string]bool
	blank   store.Store // what damageUnclaimed takes for the damaged records
}

func newFiles(kind store.Kind, s Setting) *files {
	return &files{
		make:   func() *model.Store { return model.New(options(kind, model.NoFault, s)) },
		byName: map[string]*file{},
	}
}

// Open opens a store, which is new the first time.
func (f *files) Open(name string) (store.Store, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.byName[name]
	if x == nil || f.bend == setUpInTwoSteps {
		x = &file{Store: f.make(), format: 1, jobs: map[string]bool{}}
		f.byName[name] = x
	}
	if x.format > 1 && f.bend != openNewer {
		if f.bend == touchNewer {
			x.touched++
		}
		return nil, fmt.Errorf("%w: it has format %d, this plugin knows 1", store.ErrStoreFormat, x.format)
	}
	return fileView{x, f}, nil
}

// Tamper changes a store past its rules.
func (f *files) Tamper(name string, what kit.Tampering) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.byName[name]
	switch what {
	case kit.Newer:
		x.format++
		return nil, nil
	case kit.Damage:
		if f.bend == damageIsNone {
			x.Store = f.make()
		} else {
			x.damaged, x.jobs, x.blank = x.jobs, map[string]bool{}, f.make()
		}
		return []string{"all records"}, nil
	case kit.Unknown:
		x.unknown = []string{"a field of every run", "a field of every job"}
		return x.unknown, nil
	}
	return slices.Concat([]string{fmt.Sprintf("format %d", x.format), fmt.Sprintf("touched %d", x.touched)}, x.unknown), nil
}

type fileView struct {
	*file
	all *files
}

// read says whether a job's record can be read; a claim notes that there is one.
func (v fileView) read(job string, claims bool) error {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if v.damaged[job] {
		return fmt.Errorf("%w: the record of %q can't be read", store.ErrNotApplied, job)
	}
	if claims {
		v.jobs[job] = true
	}
	return nil
}

func (v fileView) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if err := v.read(req.Job, true); err != nil {
		if v.all.bend == damageUnclaimed {
			return v.blank.Claim(ctx, req)
		}
		return store.ClaimAnswer{}, err
	}
	return v.file.Store.Claim(ctx, req)
}

func (v fileView) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	if err := v.read(req.Job, false); err != nil {
		return store.HeartbeatAnswer{}, err
	}
	return v.file.Store.Heartbeat(ctx, req)
}

func (v fileView) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	if err := v.read(req.Job, false); err != nil {
		return store.FinishAnswer{}, err
	}
	if v.all.bend == dropUnknown {
		v.all.mu.Lock()
		v.unknown = nil
		v.all.mu.Unlock()
	}
	return v.file.Store.Finish(ctx, req)
}
