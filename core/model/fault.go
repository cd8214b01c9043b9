package model

// Fault is a way to be wrong; the zero value is none.
type Fault int

func (j *Job) steps() *steps { return &truth }
