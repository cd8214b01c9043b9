package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/conformance/report"
)

func conformVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify CERTIFICATE|HISTORY …",
		Short: "Judge saved histories again, and hold a certificate to them",
		Long: `Reads certificates (conformance.json) and the histories that their checks saved beside
them, or histories alone, and judges each history again by the model of the rules. It
needs neither the plugin nor the store.

Exit code 0: every history follows the rules, and what a certificate says agrees; 1: not so.`,
		Example: "  anarchon conform verify report/conformance.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no file; name certificates or histories")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var faults []error
			for _, path := range args {
				var err error
				if strings.HasSuffix(path, ".json") {
					err = verifyCertificate(cmd.OutOrStdout(), path)
				} else {
					_, err = verifyHistory(cmd.OutOrStdout(), path)
				}
				if err != nil {
					faults = append(faults, err)
				}
			}
			return errors.Join(faults...)
		},
	}
}

// isHistory tells a saved history by its name.
func isHistory(name string) bool { return strings.HasSuffix(name, ".jsonl") }

func verifyCertificate(out io.Writer, path string) error {
	c, err := report.ReadCertificate(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n  %s\n", path, c.Line)
	histories, faults := 0, []error{}
	for _, k := range c.Checks {
		for _, name := range k.Files {
			if !isHistory(name) {
				continue
			}
			histories++
			legal, err := verifyHistory(out, filepath.Join(filepath.Dir(path), filepath.Base(name)))
			switch {
			case errors.Is(err, errIllegal):
				if k.Outcome == "pass" {
					faults = append(faults, fmt.Errorf("%s: %s passed, and its history breaks the rules", path, k.ID))
				}
			case err != nil:
				faults = append(faults, err)
			case legal && k.Outcome == "fail":
				fmt.Fprintf(out, "  %s failed, and its history follows the rules: it failed for another reason: %s\n", k.ID, k.Reason)
			}
		}
	}
	if histories == 0 {
		fmt.Fprintln(out, "  it has no saved histories: there is nothing to judge again")
	}
	if !c.Verdict.OK {
		faults = append(faults, fmt.Errorf("%s: the verdict is %s", path, c.Verdict.Word()))
	}
	return errors.Join(faults...)
}

var errIllegal = errors.New("the history breaks the rules")

func verifyHistory(out io.Writer, path string) (legal bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, j, err := history.JudgeFile(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(out, "  %s: %v, %d calls of %d jobs\n", path, j.Verdict, j.Ops, j.Jobs)
	switch j.Verdict {
	case history.Legal:
		return true, nil
	case history.Illegal:
		fmt.Fprintf(out, "%s\n%s", j.Reason, history.Ladder(j.Culprit))
		return false, fmt.Errorf("%s: %w", path, errIllegal)
	}
	return false, fmt.Errorf("%s: it can't be told if the history follows the rules: %s", path, j.Reason)
}

func conformCompareCommand() *cobra.Command {
	var summary bool
	cmd := &cobra.Command{
		Use:     "compare CERTIFICATE …",
		Short:   "A page, in Markdown, that lays certificates side by side",
		Example: "  anarchon conform compare redis/conformance.json postgres/conformance.json > backends.md",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no file; name certificates (conformance.json)")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []report.Certificate
			for _, path := range args {
				c, err := report.ReadCertificate(path)
				if err != nil {
					return err
				}
				all = append(all, c)
			}
			write := report.Compare
			if summary {
				write = report.Summary
			}
			var page bytes.Buffer
			if err := write(&page, all); err != nil {
				return err
			}
			_, err := cmd.OutOrStdout().Write(page.Bytes())
			return err
		},
	}
	cmd.Flags().BoolVar(&summary, "summary", false, "the table alone")
	return cmd
}
