package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// A job's file has a line of JSON with the job and its unfinished runs, and then a
// line per run that ended, oldest slot first. What decides is on the first line.

const jobSuffix = ".job"

func (f folder) path(name string) string {
	return filepath.Join(f.dir, fileName(name)+jobSuffix)
}

// encode makes the content of a job's file.
func (j *job) encode() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b) // a value per line
	err := out.Encode(j)
	for _, r := range j.ended {
		err = errors.Join(err, out.Encode(r))
	}
	return b.Bytes(), err
}

// load reads a job. A writer replaces the file and never changes it, so what is
// read is whole, with or without the lock.
func (f folder) load(name string) (*job, error) {
	j, err := f.loadFile(f.path(name))
	if j != nil && j.Name == "" {
		j.Name = name // it has no file yet
	}
	return j, err
}

func (f folder) loadFile(path string) (*job, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return new(job), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrNotApplied, err)
	}
	defer file.Close()
	in := bufio.NewReader(file)
	j, err := decodeJob(in)
	for err == nil {
		r := new(run)
		if err = decodeLine(in, r); err == nil {
			err = r.check()
			j.ended = append(j.ended, r)
		}
	}
	if err != io.EOF {
		return nil, fmt.Errorf("%w: %s is damaged: %w", store.ErrNotApplied, file.Name(), err)
	}
	return j, nil
}

// heads calls each with what decides of every job of the namespace, without its
// history.
func (f folder) heads(each func(*job) error) error {
	paths, err := filepath.Glob(filepath.Join(f.dir, "*"+jobSuffix))
	if err != nil {
		return err
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrNotApplied, err)
		}
		j, err := decodeJob(bufio.NewReader(file))
		file.Close()
		if err != nil {
			return fmt.Errorf("%w: %s is damaged: %w", store.ErrNotApplied, path, err)
		}
		if err := each(j); err != nil {
			return err
		}
	}
	return nil
}

func decodeJob(in *bufio.Reader) (*job, error) {
	j := new(job)
	err := decodeLine(in, j)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = j.check()
	}
	for _, r := range j.Unfinished {
		err = errors.Join(err, r.check())
	}
	return j, err
}

// check refuses what no version of this plugin writes, and what would make the
// rules panic, or grant again what was granted: people edit files. A file is there
// once something was granted.
func (j *job) check() error {
	if j.Name == "" || j.LastToken < 1 {
		return errors.New("a job without its name or its last token")
	}
	return nil
}

func (r *run) check() error {
	if r == nil || len(r.Attempts) == 0 || slices.ContainsFunc(r.Attempts, (*attempt).broken) {
		return errors.New("a run without attempts, or an attempt without number, token or status")
	}
	return nil
}

func (a *attempt) broken() bool { return a == nil || a.Number < 1 || a.Token < 1 || a.Status == 0 }

// decodeLine returns io.EOF at the end.
func decodeLine(in *bufio.Reader, into any) error {
	line, err := in.ReadBytes('\n')
	if err == io.EOF && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// unknown holds the fields of a record that a newer version of this plugin wrote.
// They are written back: during a rolling deploy the older instances must not erase
// what the newer ones keep.
type unknown struct{ fields map[string]json.RawMessage }

func (u *unknown) read(line []byte, known any) error {
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if strict.Decode(known) == nil {
		return nil
	}
	if err := json.Unmarshal(line, known); err != nil {
		return err
	}
	if err := json.Unmarshal(line, &u.fields); err != nil {
		return err
	}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(known).Elem()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		delete(u.fields, name)
	}
	return nil
}

func (u *unknown) write(known any) ([]byte, error) {
	line, err := json.Marshal(known)
	if err != nil || len(u.fields) == 0 {
		return line, err
	}
	more, err := json.Marshal(u.fields)
	return fmt.Appendf(line[:len(line)-1], ",%s", more[1:]), err
}

// The types without methods keep encoding/json from calling these again.
type (
	plainJob     job
	plainRun     run
	plainAttempt attempt
)

func (j *job) UnmarshalJSON(b []byte) error     { return j.read(b, (*plainJob)(j)) }
func (r *run) UnmarshalJSON(b []byte) error     { return r.read(b, (*plainRun)(r)) }
func (a *attempt) UnmarshalJSON(b []byte) error { return a.read(b, (*plainAttempt)(a)) }

func (j *job) MarshalJSON() ([]byte, error)     { return j.write((*plainJob)(j)) }
func (r *run) MarshalJSON() ([]byte, error)     { return r.write((*plainRun)(r)) }
func (a *attempt) MarshalJSON() ([]byte, error) { return a.write((*plainAttempt)(a)) }
