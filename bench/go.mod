module github.com/anarchon-go/anarchon/bench

go 1.26.0

require (
	github.com/anarchon-go/anarchon v0.0.0
	github.com/netresearch/go-cron v0.15.0
	github.com/robfig/cron/v3 v3.0.1
)

replace github.com/anarchon-go/anarchon => ../
