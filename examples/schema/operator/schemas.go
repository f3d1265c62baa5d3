package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// SchemaSpec is the spec of the manifests of the kind Schema.
type SchemaSpec struct {
	// Name is the name of the schema and of its user.
	Name string `json:"name"`
	// Charset is the default character set of new tables.
	Charset string `json:"charset"`
	// AdminSecret names a Secret with the keys address, username and password of an administrator. UserSecret names a
	// Secret with the key password of the user. Both are among the references of the manifest.
	AdminSecret string `json:"adminSecret"`
	UserSecret  string `json:"userSecret"`
}

// Schema is the observed state of a schema and its user.
type Schema struct {
	Address string `json:"address"`
	// Charset is empty if the schema does not exist although it is in the table of owners.
	Charset string `json:"charset,omitempty"`
	// Login is set if the user can use the schema with the password in the Secret.
	Login bool `json:"login"`
	// Owner is the token in the table of owners.
	Owner string `json:"owner,omitempty"`
}

var (
	// schemaName has no _ and %, which are wildcards in GRANT.
	schemaName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	reserved   = []string{"fairlead", "information-schema", "mysql", "performance-schema", "root", "sys"}
	charsets   = []string{"ascii", "latin1", "utf8mb4"}
)

// maxName is the maximum length of the name of a user in MySQL.
const maxName = 32

// Schemas handles externals of the kind Schema in MySQL and MariaDB. A schema has no place for the token, so Schemas
// keeps the owners in the table fairlead.owners of the server.
type Schemas struct{}

// Identify implements external.Identifier.
func (Schemas) Identify(spec SchemaSpec) string { return spec.Name }

// Validate implements external.Validator.
func (Schemas) Validate(spec SchemaSpec) error {
	var errs []error
	switch {
	case !schemaName.MatchString(spec.Name) || len(spec.Name) > maxName:
		errs = append(errs, fmt.Errorf("spec.name: %q must begin with a letter, end with a letter or digit, "+
			"and have at most %d lower-case letters, digits and hyphens", spec.Name, maxName))
	case slices.Contains(reserved, spec.Name):
		errs = append(errs, fmt.Errorf("spec.name: %s is reserved; use another name", spec.Name))
	}
	if !slices.Contains(charsets, spec.Charset) {
		errs = append(errs, fmt.Errorf("spec.charset: %q must be one of %v", spec.Charset, charsets))
	}
	return errors.Join(errs...)
}

// ImmutableChanges implements external.Immutable.
func (Schemas) ImmutableChanges(applied, desired SchemaSpec) []string {
	return external.Changed(applied, desired, "name")
}

// Match implements external.Matcher.
func (Schemas) Match(spec SchemaSpec, observed Schema) (differs string) {
	switch {
	case observed.Charset == "":
		return "the schema does not exist"
	case observed.Charset != spec.Charset:
		return fmt.Sprintf("the character set is %s, not %s", observed.Charset, spec.Charset)
	case !observed.Login:
		return "the user cannot use the schema with the password in the Secret"
	}
	return ""
}

// Token implements external.Tagged.
func (Schemas) Token(observed Schema) string { return observed.Owner }

// Ready implements external.Readier.
func (Schemas) Ready(observed Schema) (ready bool, message string) {
	return observed.Login, "the user cannot use the schema"
}

// Observe implements external.Kind. A schema does not exist if the table of owners contains no entry for it, because
// Delete removes the entry last.
func (Schemas) Observe(ctx context.Context, r external.Ref[SchemaSpec]) (Schema, error) {
	var observed Schema
	err := withServer(r, func(s *server) (err error) {
		observed, err = s.observe(ctx, r.ID, r)
		return err
	})
	return observed, err
}

// Create implements external.Creator. The entry in the table of owners comes first: it makes the attempts of the same
// component recognise each other, and those of two components exclude each other.
func (Schemas) Create(ctx context.Context, r external.Ref[SchemaSpec]) (external.Created[Schema], error) {
	created := external.Created[Schema]{ID: r.Spec.Name}
	err := withServer(r, func(s *server) error {
		if err := s.claim(ctx, r); err != nil {
			return err
		}
		if err := s.apply(ctx, r); err != nil {
			return err
		}
		var err error
		created.Observed, err = s.observe(ctx, r.Spec.Name, r)
		return err
	})
	return created, err
}

// Update implements external.Updater.
func (Schemas) Update(ctx context.Context, r external.Ref[SchemaSpec], _ Schema) (Schema, error) {
	var observed Schema
	err := withServer(r, func(s *server) error {
		if err := s.own(ctx, r.ID, r.Token); err != nil {
			return err
		}
		if err := s.apply(ctx, r); err != nil {
			return err
		}
		var err error
		observed, err = s.observe(ctx, r.ID, r)
		return err
	})
	return observed, err
}

// Delete implements external.Deleter.
func (Schemas) Delete(ctx context.Context, r external.Ref[SchemaSpec]) error {
	return withServer(r, func(s *server) error {
		if err := s.own(ctx, r.ID, r.Token); err != nil {
			return err
		}
		return s.drop(ctx, r.ID)
	})
}

// claim makes an entry in the table of owners. The error is ErrExists if the schema or its user exists and is not ours.
func (s *server) claim(ctx context.Context, r external.Ref[SchemaSpec]) error {
	owner, err := s.owner(ctx, r.Spec.Name)
	switch {
	case err == nil && owner == r.Token:
		return nil
	case err == nil:
		return external.ErrExists
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	exists, err := s.exists(ctx, r.Spec.Name)
	if err != nil {
		return err
	}
	if exists {
		return external.ErrExists
	}
	err = s.own(ctx, r.Spec.Name, r.Token)
	if errors.Is(err, errForeign) {
		return external.ErrExists
	}
	return err
}
