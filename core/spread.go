package core

// spreadSize is how many goroutines the loop starts by itself.
const spreadSize = 64

// spread runs each task on a goroutine of its own. Of many, the goroutines are started
// by others: a thousand slots that are due at once keep one processor busy for
// milliseconds with that alone. The tasks must not be changed after.
func spread[T interface{ run() }](tasks []T) {
	for len(tasks) > spreadSize {
		some := tasks[:spreadSize]
		tasks = tasks[spreadSize:]
		go begin(some)
	}
	begin(tasks)
}

func begin[T interface{ run() }](tasks []T) {
	for _, t := range tasks {
		go t.run()
	}
}
