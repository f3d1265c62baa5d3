package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// The numbers of errors of MySQL and MariaDB.
const (
	errTooManyConnections = 1040
	errDatabaseDenied     = 1044
	errAccessDenied       = 1045
	errNoDatabase         = 1049
	errTableDenied        = 1142
	errNoTable            = 1146
	errRightMissing       = 1227
)

var errForeign = errors.New("the schema belongs to another component, by its entry in the table fairlead.owners")

// server is a connection of an administrator.
type server struct {
	*sql.DB
	address string
}

// withServer calls f with a connection that exists for this call, so new credentials take effect at once. It classifies
// the errors of f.
func withServer(r external.Ref[SchemaSpec], f func(*server) error) error {
	var values [3]string
	for i, key := range []string{"address", "username", "password"} {
		var err error
		if values[i], err = r.References.Secret(r.Spec.AdminSecret, key); err != nil {
			return external.Refused(fmt.Errorf("the administrator: %w", err))
		}
	}
	address := values[0]
	db, err := open(address, values[1], values[2], "")
	if err != nil {
		return external.Refused(err)
	}
	defer func() { _ = db.Close() }()
	err = f(&server{DB: db, address: address})
	switch {
	case errors.Is(err, errForeign), isError(err, errAccessDenied, errDatabaseDenied, errTableDenied, errRightMissing):
		return external.Refused(err)
	case isError(err, errTooManyConnections):
		return external.RefusedFor(err, 0)
	}
	return err
}

// open returns a handle that has no connection yet. The driver replaces the parameters of statements by literals,
// because statements for users cannot be prepared.
func open(address, user, password, schema string) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User, config.Passwd, config.DBName = "tcp", address, user, password, schema
	config.InterpolateParams = true
	config.TLSConfig = "preferred"
	config.Timeout = 10 * time.Second
	config.Logger = &mysql.NopLogger{} // Errors are returned.
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// quoted returns a name as it is written in a statement. Names cannot be parameters.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// observe returns the state of the schema with a name. The name in r.Spec may be another one, if it was changed.
func (s *server) observe(ctx context.Context, name string, r external.Ref[SchemaSpec]) (Schema, error) {
	observed := Schema{Address: s.address}
	row := s.QueryRowContext(ctx,
		"SELECT default_character_set_name FROM information_schema.schemata WHERE schema_name = ?", name)
	err := row.Scan(&observed.Charset)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Schema{}, fmt.Errorf("read schema %s: %w", name, err)
	}
	missing := err != nil
	observed.Owner, err = s.owner(ctx, name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Schema{}, err
	}
	if missing && err != nil {
		return Schema{}, external.ErrNotFound
	}
	// Without a password there is no login.
	password, _ := r.References.Secret(r.Spec.UserSecret, "password")
	observed.Login, err = s.login(ctx, name, password)
	return observed, err
}

// login reports whether the user can use the schema with the password. A server may block hosts with many failed
// logins, so there is no attempt for a user that does not exist.
func (s *server) login(ctx context.Context, name, password string) (bool, error) {
	exists, err := s.count(ctx, "SELECT COUNT(*) FROM mysql.user WHERE user = ?", name)
	if err != nil || exists == 0 {
		return false, err
	}
	db, err := open(s.address, name, password, name)
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }()
	err = db.PingContext(ctx)
	if isError(err, errAccessDenied, errDatabaseDenied, errNoDatabase) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("log in as user %s: %w", name, err)
	}
	return true, nil
}

// owner returns the token in the table of owners. The error is sql.ErrNoRows if there is none.
func (s *server) owner(ctx context.Context, name string) (token string, err error) {
	err = s.QueryRowContext(ctx, "SELECT token FROM fairlead.owners WHERE name = ?", name).Scan(&token)
	if isError(err, errNoDatabase, errNoTable) {
		err = sql.ErrNoRows
	}
	if err != nil {
		err = fmt.Errorf("read the owner of schema %s: %w", name, err)
	}
	return token, err
}

// own stores the token as that of the owner unless there is an entry. The error is errForeign if another token is
// there.
func (s *server) own(ctx context.Context, name, token string) error {
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS fairlead",
		"CREATE TABLE IF NOT EXISTS fairlead.owners (name VARCHAR(64) NOT NULL PRIMARY KEY, token VARCHAR(64) NOT NULL)",
	} {
		if _, err := s.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the table of owners: %w", err)
		}
	}
	_, err := s.ExecContext(ctx, "INSERT IGNORE INTO fairlead.owners (name, token) VALUES (?, ?)", name, token)
	if err != nil {
		return fmt.Errorf("store the owner of schema %s: %w", name, err)
	}
	owner, err := s.owner(ctx, name)
	if err == nil && owner != token {
		return errForeign
	}
	return err
}

// exists reports whether there is a schema or a user with this name.
func (s *server) exists(ctx context.Context, name string) (bool, error) {
	schemas, err := s.count(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name)
	if err != nil || schemas > 0 {
		return schemas > 0, err
	}
	users, err := s.count(ctx, "SELECT COUNT(*) FROM mysql.user WHERE user = ?", name)
	return users > 0, err
}

// count returns the number that a query about a name selects.
func (s *server) count(ctx context.Context, query, name string) (number int, err error) {
	if err := s.QueryRowContext(ctx, query, name).Scan(&number); err != nil {
		return 0, fmt.Errorf("look for schema and user %s: %w", name, err)
	}
	return number, nil
}

// apply brings the schema and its user to the spec.
func (s *server) apply(ctx context.Context, r external.Ref[SchemaSpec]) error {
	name := r.Spec.Name
	password, err := r.References.Secret(r.Spec.UserSecret, "password")
	if err != nil {
		return external.Refused(fmt.Errorf("the user: %w", err))
	}
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS " + quoted(name) + " CHARACTER SET " + quoted(r.Spec.Charset),
		"ALTER DATABASE " + quoted(name) + " CHARACTER SET " + quoted(r.Spec.Charset),
	} {
		if _, err := s.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("apply schema %s: %w", name, err)
		}
	}
	for _, statement := range []string{
		"CREATE USER IF NOT EXISTS ?@'%' IDENTIFIED BY ?",
		"ALTER USER ?@'%' IDENTIFIED BY ?",
	} {
		if _, err := s.ExecContext(ctx, statement, name, password); err != nil {
			return fmt.Errorf("apply user %s: %w", name, withoutStatement(err))
		}
	}
	if _, err := s.ExecContext(ctx, "GRANT ALL PRIVILEGES ON "+quoted(name)+".* TO ?@'%'", name); err != nil {
		return fmt.Errorf("grant rights to user %s: %w", name, err)
	}
	return nil
}

// drop removes the schema, then its user, then the entry in the table of owners. It can be repeated after any of these.
func (s *server) drop(ctx context.Context, name string) error {
	if _, err := s.ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoted(name)); err != nil {
		return fmt.Errorf("drop schema %s: %w", name, err)
	}
	if _, err := s.ExecContext(ctx, "DROP USER IF EXISTS ?@'%'", name); err != nil {
		return fmt.Errorf("drop user %s: %w", name, err)
	}
	if _, err := s.ExecContext(ctx, "DELETE FROM fairlead.owners WHERE name = ?", name); err != nil {
		return fmt.Errorf("remove the owner of schema %s: %w", name, err)
	}
	return nil
}

// isError reports whether err is an error of the server with one of these numbers.
func isError(err error, numbers ...uint16) bool {
	var failure *mysql.MySQLError
	return errors.As(err, &failure) && slices.Contains(numbers, failure.Number)
}

// withoutStatement returns an error without the text of the server, which can repeat a statement and its password.
func withoutStatement(err error) error {
	var failure *mysql.MySQLError
	if !errors.As(err, &failure) {
		return err
	}
	const message = "the server refused the statement"
	return &mysql.MySQLError{Number: failure.Number, SQLState: failure.SQLState, Message: message}
}
