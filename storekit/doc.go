// Package storekit runs backends as plugins: programs of their own, started by
// the service and spoken to by gRPC. A driver's bug, its memory and its
// dependencies stay out of the service, and a backend may be written in any
// language (docs/protocol.md is all it needs).
//
// A service author calls [Open] and gets a [Client], which is a store.Store. A
// backend author implements [Backend] and calls [Serve] in main.
//
// # Finding a plugin
//
// [Plugin.Path], if it has a slash in it; else a plugin of that name which the
// program carries ([Embed]); else the file anarchon-plugin-NAME, then NAME, in
// [Plugin.Dirs], in the directories of $ANARCHON_PLUGIN_DIR, in the directory of the
// running program, and, with [Plugin.SearchPATH], in $PATH. An error lists every
// path that was tried.
//
// # The life of a plugin
//
// [Open] starts it, and from then on it is kept running: when it dies, or hangs, it
// is started again, at once the first time and then after growing pauses. So a
// running job outlives its plugin, as long as another process of it serves before
// the job's lease is over. After five deaths in a row it is [StateBroken]: calls are
// then refused at once, with [ErrCrashLoop] and the plugin's last words, while it is
// still tried from time to time. A plugin that has served for ten seconds begins a
// new row. [Plugin.OnEvent] hears of all this, and the log.
//
// # A plugin under a debugger
//
// Set [Plugin.Debug], so that a plugin that stands still is not killed, take its pid
// from [Client.PID], the event [Ready] or the log (level debug), and attach:
//
//	dlv attach PID
//
// Build it with go build -gcflags='all=-N -l'. To stop in Configure, let it sleep
// there first: the start has an hour. The scheduler's own bounds go on, so give the
// job at hand a long lease.
//
// # Duties of a service
//
//   - Close the client after the scheduler has stopped. A plugin whose service dies
//     without it ends by itself, within seconds.
//   - Take store.ErrUnknown as unknown. The host tells what was surely not sent from
//     what may have arrived, and never sends a claim, heartbeat or finish a second
//     time if it may have arrived; asking again is the caller's decision.
//   - Keep secrets in [Plugin.Config], best as "@file". They are not in the plugin's
//     arguments or environment, and are taken out of errors and log lines.
//     docs/security.md says what trust a plugin gets.
//   - With systemd, KillMode=mixed spares plugins that are not written with this
//     package a SIGTERM before their service has handed its runs over.
//
// # Duties of a plugin
//
//   - Decide each claim, heartbeat and finish in one atomic step in the store, on
//     the store's clock, and return store.ErrNotApplied only if nothing can have
//     happened. The rules are numbered in docs/protocol.md; package conformance
//     proves them.
//   - Never resend a request to the store that may have arrived. Many drivers do it
//     unasked.
//   - Print nothing to stdout before [Serve].
//   - Answer within the context's deadline. Configure may not take longer than the
//     service's [Plugin.StartTimeout] (30 s by default).
//   - Be ready to be killed at any moment: it happens when the plugin hangs, and when
//     it does not close in time.
//
// # What is not promised
//
//   - A plugin is not a sandbox. It runs as the service's user and can do what that
//     user can; only the environment is kept from it. A plugin that searches memory
//     or files is not stopped.
//   - Secrets are found in text by their value. A plugin that prints one encoded or in
//     pieces is not caught; neither is a secret of fewer than four characters.
//   - An answer may come after the caller's deadline, and its request then still take
//     effect: that is what unknown means.
//   - Requests of different verbs, and concurrent requests of one, keep no order.
//   - Plugins run on Unix systems only. Grandchildren that leave the plugin's process
//     group are not killed with it, and those in it only while the service lives to
//     do so.
//   - A process that SIGKILL does not end (it hangs in the kernel) is left behind, with
//     a line in the log.
package storekit
