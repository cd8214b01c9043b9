// Package cron turns cron expressions into times: the next firing after an instant, and the latest one at or before it.
//
// It is made for schedulers whose instances must agree without talking to each other. The times of a schedule depend on nothing but the
// expression and the rules of its time zone, not on when or how often it is asked. A clock change neither loses nor repeats the run
// of a job that names its times, and what can never fire does not parse.
//
// # Expressions
//
// An expression has five fields, or six with the seconds first. Without seconds a firing is at second 0.
//
//	second        0-59
//	minute        0-59
//	hour          0-23
//	day of month  1-31  ? L LW W
//	month         1-12 or JAN-DEC
//	day of week   0-7 or SUN-SAT, 0 and 7 are Sunday  ? L #
//
// Each is * (every value) or a list of elements, separated by commas:
//
//	5          a value; names are three letters, in any case
//	9-17       a range
//	22-2       a range that wraps: 22, 23, 0, 1, 2; as well FRI-MON, NOV-FEB, 25-5
//	*/15       every fifteenth value from the first on: 0, 15, 30, 45
//	10-40/15   the same in a range: 10, 25, 40
//
// A step starts anew with each round of its field: */7 in the minute field fires at 56 and then at 0, four minutes later. For an
// interval that does not divide its field use core.Every instead of an expression.
//
// In a day field ? is the same as *, and there are these elements:
//
//	L      day of month: the last day
//	L-3    day of month: the third day before the last
//	15W    day of month: the Monday to Friday nearest to the 15th, never in another month; no day in a month without such a date
//	LW     day of month: the last Monday to Friday
//	5L     day of week: the last Friday of the month; also FRIL
//	5#3    day of week: the third Friday of the month, 1 to 5; also FRI#3
//
// The macros are @yearly (or @annually), @monthly, @weekly, @daily (or @midnight) and @hourly.
//
// # Two day fields
//
// If both day fields are restricted, a day needs to match only one of them, as in POSIX and Vixie cron: "0 0 13 * FRI" fires on each
// 13th and on each Friday. A field is unrestricted if it is a plain * or ?. A step restricts, so "0 0 */2 * MON" fires on odd days and
// on Mondays, and "0 0 */1 * MON" every day.
//
// # Clock changes
//
// They are treated as cronie treats them, and it depends on the job. A fixed job names its times: there is no * and no / in its
// seconds, minutes and hours. It runs once for each: a time that the clock skips runs at the first instant after the gap, a time
// that the clock shows twice runs the first time. All other jobs are interval jobs. They follow real time: they have no run in a
// gap, and run in both passes of an hour that comes twice. In New York:
//
//	                 2024-03-10, 02:00 becomes 03:00     2024-11-03, 02:00 becomes 01:00
//	30 2 * * *       03:00, for 02:30                    02:30
//	30 1 * * *       01:30                               01:30, the first time only
//	0,30 2,3 * * *   03:00, for 02:00, 02:30 and itself  02:00, 02:30, 03:00, 03:30
//	                 03:30
//	*/30 1,2 * * *   01:00, 01:30                        01:00, 01:30, 01:00, 01:30, 02:00, 02:30
//	0 * * * *        each hour of real time              each hour of real time
//
// Gaps and repeated times of any length follow the same rule. Samoa had no 30 December 2011: what a fixed job should have run that
// day runs once, at the first instant of the 31st, and the runs of the 31st follow at their own times. An interval job has no runs
// for that day.
//
// # What is refused
//
// [Parse] refuses what can be read in two ways or is surely a mistake; its errors say what to write instead.
//
//   - 5/15: some read it as 5-59/15, some as 5, and some refuse it. Write the range.
//   - A step greater than its field or range, an empty place in a list, * beside other elements.
//   - An expression that can never fire, such as 30 February, with [ErrNever]; also an interval job all of whose times lie in a gap.
//   - @every: counted from the start of a process, so no two instances agree. @reboot: no time at all.
//   - CRON_TZ= and TZ=: the time zone is an argument.
//   - A year field. Some packages read the last of six fields as the year; here the first is the second.
//   - More than 1024 characters.
//
// # Traps
//
//   - "0,30 1 * * *" and "*/30 1 * * *" fire at the same times on most days, but the first is a fixed job and the second an interval job.
//   - A clock change can bring two firings closer together than [Schedule.MinGap], which ignores it: "30 2 * * *" and its run at 03:00.
//   - time.Local is the zone that a machine is set to. Instances that must agree should name theirs.
//   - Machines may have different versions of the tz database, and then compute different times. [Schedule.Fingerprint] tells.
package cron
