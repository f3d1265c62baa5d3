package test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/fairlead-io/fairlead/examples/schema/operator"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/external/externaltest"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// password contains all characters with a meaning in a statement.
const password = `it's "a" \ password; -- %s ?`

var admin = generator.Reference{Kind: "Secret", Namespace: "apps", Name: "db-admin"}

func TestSchemaInProcess(t *testing.T) { testKind(t, inProcess(t)) }

// ref returns a Ref for the schema. A schema has a token of its own for each owner.
func ref(address, name, owner string) external.Ref[operator.SchemaSpec] {
	return external.Ref[operator.SchemaSpec]{
		Spec: operator.SchemaSpec{Name: name, Charset: "utf8mb4", AdminSecret: "db-admin", UserSecret: "shop-db"},
		ID:   name, Token: strings.Repeat(owner, 40),
		References: generator.References{
			admin: {
				"address": []byte(address), "username": []byte(adminUser), "password": []byte(adminPassword),
			},
			{Kind: "Secret", Namespace: "apps", Name: "shop-db"}: {"password": []byte(password)},
		},
	}
}

// connect opens a connection to a schema; "" is the server itself.
func connect(t *testing.T, address, user, password, schema string) *sql.DB {
	t.Helper()
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User, config.Passwd, config.DBName = "tcp", address, user, password, schema
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// drift is a statement of somebody else, and a part of the difference that the Kind sees then.
type drift struct{ statement, differs string }

// testKind checks the Kind against a server. drifts are further drifts that the server supports.
func testKind(t *testing.T, address string, drifts ...drift) {
	for name, test := range map[string]func(*testing.T, string){
		"the handler fulfils the contract":                        testContract,
		"a schema is created, observed and deleted with its user": testLife,
		"drift is seen and repaired": func(t *testing.T, address string) {
			testDrift(t,
				address, drifts)
		},
		"a create can be repeated and continued":     testRepeated,
		"a schema of another owner is left alone":    testForeign,
		"a deletion continues after an interruption": testInterruptedDelete,
		"errors are classified and show no password": testErrors,
	} {
		t.Run(name, func(t *testing.T) { test(t, address) })
	}
}

// testContract loses no answer: the name of a schema identifies it.
func testContract(t *testing.T, address string) {
	r, wrong := ref(address, "orders-contract", "1"), ref(address, "orders-contract", "1")
	wrong.References[admin]["password"] = []byte("wrong \"%+ password")
	changed, renamed := r.Spec, r.Spec
	changed.Charset, renamed.Name = "latin1", "orders-renamed"
	externaltest.Check(t, operator.Driver(operator.Options{}), externaltest.Case{
		Spec: r.Spec, Changed: changed, Immutable: renamed,
		References: r.References, WrongReferences: wrong.References,
	})
}

func testLife(t *testing.T, address string) {
	kind, r := operator.Schemas{}, ref(address, "orders-life", "a")
	if _, err := kind.Observe(t.Context(), r); !errors.Is(err, external.ErrNotFound) {
		t.Fatalf("observe: %v, want ErrNotFound", err)
	}
	created, err := kind.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := operator.Schema{Address: address, Charset: "utf8mb4", Login: true, Owner: r.Token}
	if created.Observed != want || created.ID != r.Spec.Name {
		t.Errorf("created %+v, want %+v", created, want)
	}
	if differs := kind.Match(r.Spec, created.Observed); differs != "" {
		t.Errorf("the new schema differs: %s", differs)
	}

	application := connect(t, address, r.Spec.Name, password, r.Spec.Name)
	execute(t, application, "CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
	if _, err := application.ExecContext(t.Context(), "DELETE FROM fairlead.owners"); err == nil {
		t.Error("the user can change other schemas")
	}

	for range 2 {
		if err := kind.Delete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kind.Observe(t.Context(), r); !errors.Is(err, external.ErrNotFound) {
		t.Errorf("observe a deleted schema: %v, want ErrNotFound", err)
	}
	if err := connect(t, address, r.Spec.Name, password, "").PingContext(t.Context()); err == nil {
		t.Error("the user still exists")
	}
}

func testDrift(t *testing.T, address string, drifts []drift) {
	kind, r := operator.Schemas{}, ref(address, "orders-drift", "b")
	if _, err := kind.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	server := connect(t, address, adminUser, adminPassword, "")
	for _, drift := range append([]drift{
		{"ALTER DATABASE `orders-drift` CHARACTER SET latin1", "character set"},
		{"ALTER USER 'orders-drift'@'%' IDENTIFIED BY 'other'", "password"},
		{"DROP USER 'orders-drift'@'%'", "password"},
		{"DROP DATABASE `orders-drift`", "does not exist"},
	}, drifts...) {
		execute(t, server, drift.statement)
		observed, err := kind.Observe(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if differs := kind.Match(r.Spec, observed); !strings.Contains(differs, drift.differs) {
			t.Errorf("after %s the difference is %q, want %q", drift.statement, differs, drift.differs)
		}
		repaired, err := kind.Update(t.Context(), r, observed)
		if err != nil {
			t.Fatal(err)
		}
		ready, _ := kind.Ready(repaired)
		if differs := kind.Match(r.Spec, repaired); differs != "" || !ready {
			t.Errorf("after the repair of %s: ready %t, %s", drift.statement, ready, differs)
		}
	}

	for reference, data := range r.References {
		if reference.Name == "shop-db" {
			data["password"] = []byte("a new password")
		}
	}
	observed, err := kind.Observe(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if observed.Login {
		t.Error("a new password in the Secret is not seen")
	}
}

func testRepeated(t *testing.T, address string) {
	kind, r := operator.Schemas{}, ref(address, "orders-repeated", "c")
	if _, err := kind.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, address, r.Spec.Name, password, r.Spec.Name), "CREATE TABLE orders (id INT PRIMARY KEY)")
	execute(t, connect(t, address, adminUser, adminPassword, ""), "DROP USER 'orders-repeated'@'%'")
	if created, err := kind.Create(t.Context(), r); err != nil || !created.Observed.Login {
		t.Fatalf("create again: %+v, %v; want the same schema", created, err)
	}
	execute(t, connect(t, address, r.Spec.Name, password, r.Spec.Name), "INSERT INTO orders VALUES (1)")
}

func testForeign(t *testing.T, address string) {
	kind := operator.Schemas{}
	server := connect(t, address, adminUser, adminPassword, "")
	execute(t, server, "CREATE DATABASE `by-hand`", "CREATE USER 'user-by-hand'@'%' IDENTIFIED BY 'x'")
	if _, err := kind.Create(t.Context(), ref(address, "orders-foreign", "d")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"by-hand", "user-by-hand", "orders-foreign"} {
		if _, err := kind.Create(t.Context(), ref(address, name, "e")); !errors.Is(err, external.ErrExists) {
			t.Errorf("create %s: %v, want ErrExists", name, err)
		}
	}

	other := ref(address, "orders-foreign", "e")
	observed, err := kind.Observe(t.Context(), other)
	if err != nil || kind.Token(observed) != strings.Repeat("d", 40) {
		t.Errorf("observed %+v, %v; want the token of the owner", observed, err)
	}
	if _, err := kind.Update(t.Context(), other, observed); err == nil {
		t.Error("a schema of another owner was updated")
	}
	if err := kind.Delete(t.Context(), other); err == nil {
		t.Error("a schema of another owner was deleted")
	}
	if observed, err := kind.Observe(t.Context(), other); err != nil || !observed.Login {
		t.Errorf("the schema of the other owner is now %+v, %v", observed, err)
	}
}

func testInterruptedDelete(t *testing.T, address string) {
	kind, r := operator.Schemas{}, ref(address, "orders-halfway", "f")
	if _, err := kind.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, address, adminUser, adminPassword, ""), "DROP DATABASE `orders-halfway`")
	if _, err := kind.Observe(t.Context(), r); err != nil {
		t.Errorf("observe: %v, want a schema that exists while its user exists", err)
	}
	if err := kind.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := kind.Observe(t.Context(), r); !errors.Is(err, external.ErrNotFound) {
		t.Errorf("observe: %v, want ErrNotFound", err)
	}
}

func testErrors(t *testing.T, address string) {
	kind := operator.Schemas{}
	wrong := ref(address, "orders-errors", "0")
	wrong.References[admin]["password"] = []byte("hunter2")
	none := ref(address, "orders-errors", "0")
	delete(none.References, admin)
	unreachable := ref("127.0.0.1:1", "orders-errors", "0")
	for name, test := range map[string]struct {
		ref     external.Ref[operator.SchemaSpec]
		refused bool
	}{
		"wrong password":     {wrong, true},
		"no Secret":          {none, true},
		"server unreachable": {unreachable, false},
	} {
		_, err := kind.Create(t.Context(), test.ref)
		refused := new(external.RefusedError)
		if err == nil || errors.As(err, &refused) != test.refused {
			t.Errorf("%s: the error is %v, want refused: %t", name, err, test.refused)
		}
		if text := fmt.Sprint(err); strings.Contains(text, "hunter2") || strings.Contains(text, password) {
			t.Errorf("%s: the error shows a password: %s", name, text)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := kind.Observe(ended, ref(address, "orders-errors", "0")); !errors.Is(err, context.Canceled) {
		t.Errorf("observe after the end of the context: %v", err)
	}
}
