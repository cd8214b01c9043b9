package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// A server that the suite did not start is left as it was: whatever was opened there
// is cleared when all processes are closed.

// lookBefore sees if the store that the user named is there already. One that is not
// may be removed whole.
func (p *Plugin) lookBefore(ctx context.Context) {
	p.made = map[string]bool{}
	if !p.variant.Clear || len(p.variant.Fresh) == 0 {
		return // or a store is a namespace
	}
	lines, err := p.runTamper(ctx, p.config, kit.Dump)
	p.made[storeOf(p.variant, p.config)] = err == nil && len(lines) == 0
}

// storeOf tells stores apart: by the options that make one fresh.
func storeOf(v Variant, config map[string]any) string {
	var b strings.Builder
	for _, option := range slices.Sorted(maps.Keys(v.Fresh)) {
		fmt.Fprintf(&b, "%s=%v ", option, config[option])
	}
	return b.String()
}

// remember keeps a configuration, to be cleared.
func (p *Plugin) remember(config map[string]any) {
	text, err := json.Marshal(config)
	if err != nil {
		return // opening it will say so
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened == nil {
		p.opened = map[string]map[string]any{}
	}
	p.opened[string(text)] = config
}

// clearLacks says why what was left can't be removed.
func (v Variant) clearLacks() string {
	if len(v.Tamper) == 0 {
		return `the plugin's settings name no program that removes it ("tamper", with "clear: true")`
	}
	return `the plugin's settings don't say that the program of "tamper" removes it when its argument is clear or drop; teach it that, and set "clear: true"`
}

// clearLimit bounds the clearing of all that was opened.
const clearLimit = 2 * time.Minute

// clear removes what was left on a server that the user named, and says what could not
// be removed. A namespace that the user named is left alone.
func (p *Plugin) clear() (complaints []string) {
	p.mu.Lock()
	opened := p.opened
	p.opened = nil
	p.mu.Unlock()
	if !p.foreign || len(opened) == 0 {
		return nil
	}
	if !p.variant.Clear {
		p.logger.Warn("what the suite wrote is left in the store: " + p.variant.clearLacks())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearLimit)
	defer cancel()
	for _, text := range slices.Sorted(maps.Keys(opened)) {
		config, what := opened[text], kit.Clear
		if p.made[storeOf(p.variant, config)] {
			what = kit.Drop
		} else if p.own == "" && config[namespaceOption] == p.config[namespaceOption] {
			continue
		}
		if _, err := p.runTamper(ctx, config, what); err != nil {
			complaints = append(complaints, fmt.Sprintf("what the suite wrote into the namespace %q is left in the store: %v", config[namespaceOption], err))
		}
	}
	return complaints
}
