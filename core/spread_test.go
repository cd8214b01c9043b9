package core

import (
	"sync"
	"sync/atomic"
	"testing"
)

type spreadTask struct {
	ran  atomic.Int32
	done *sync.WaitGroup
}

func (t *spreadTask) run() {
	t.ran.Add(1)
	t.done.Done()
}

func TestSpreadRunsEachOnce(t *testing.T) {
	for _, n := range []int{0, 1, spreadSize, spreadSize + 1, 2 * spreadSize, 1000} {
		var done sync.WaitGroup
		tasks := make([]*spreadTask, n)
		for i := range tasks {
			done.Add(1)
			tasks[i] = &spreadTask{done: &done}
		}
		spread(tasks)
		done.Wait()
		for i, task := range tasks {
			if ran := task.ran.Load(); ran != 1 {
				t.Errorf("%d tasks: number %d ran %d times", n, i, ran)
			}
		}
	}
}
