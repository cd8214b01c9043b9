package scenarios

// Report writes pictures and a page.
func Report(dir string, results []*Result) error { return nil }
