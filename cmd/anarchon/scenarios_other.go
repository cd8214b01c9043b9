//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func scenariosCommand() *cobra.Command {
	return &cobra.Command{Use: "scenarios", Hidden: true, RunE: func(*cobra.Command, []string) error {
		return errors.New("scenarios needs the signals of a Unix")
	}}
}
