package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
)

// checkRights names the rights that the role lacks, as statements that grant
// them.
func checkRights(ctx context.Context, conn *pgx.Conn, text texts, f *facts) error {
	rows, err := conn.Query(ctx, text.file("rights"), text.schema, functionNames)
	if err != nil {
		return err
	}
	grants, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(grants) == 0 {
		return err
	}
	for i := range grants {
		grants[i] += " TO " + quoteName(f.role)
	}
	return fmt.Errorf("%w: postgres: role %q lacks rights on schema %q: %s", store.ErrInvalid, f.role, text.schema, strings.Join(grants, "; "))
}

// grants is the SQL that lets a role use the schema, and not change it.
func (t texts) grants(role string) string {
	s, r := quoteName(t.schema), quoteName(role)
	return fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;\n", s, r) +
		fmt.Sprintf("GRANT SELECT ON %s.meta TO %s;\n", s, r) +
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON %s.job TO %s;\n", s, r) +
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON %s.attempt TO %s;\n", s, r) +
		fmt.Sprintf("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %s TO %s;\n", s, r)
}

// GrantsSQL returns the statements that let a role use a schema that is set up:
// all rights that a plugin's role needs, and none to change the schema. An error
// is a [store.InvalidError].
func GrantsSQL(schema, role string) (string, error) {
	if err := errors.Join(checkSchema(schema), checkRole(role)); err != nil {
		return "", err
	}
	return texts{schema, storeNow}.grants(role), nil
}

// checkRole refuses what can't be a role's name, so that a name which the server
// would cut short grants nothing to another.
func checkRole(role string) error {
	const longest = 63 // bytes
	if role == "" || len(role) > longest || strings.ContainsFunc(role, unicode.IsControl) || !utf8.ValidString(role) {
		return &store.InvalidError{Field: "role", Value: fmt.Sprintf("%.70q", role), Rule: "1 to 63 bytes of UTF-8 without control characters"}
	}
	return nil
}
