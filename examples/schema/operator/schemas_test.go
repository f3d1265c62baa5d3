package operator

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

var orders = SchemaSpec{Name: "orders", Charset: "utf8mb4", AdminSecret: "db-admin", UserSecret: "shop-db"}

func TestSpecIsValidated(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*SchemaSpec)
		want   []string
	}{
		"a name of letters, digits and hyphens": {func(s *SchemaSpec) { s.Name = "orders-2" }, nil},
		"a wildcard of GRANT":                   {func(s *SchemaSpec) { s.Name = "orders_2" }, []string{"spec.name"}},
		"a name that ends a quotation": {
			func(s *SchemaSpec) { s.Name = "a`; DROP DATABASE b; --" },
			[]string{"spec.name"},
		},
		"a name that is too long": {func(s *SchemaSpec) {
			s.Name = strings.Repeat("a",
				33)
		}, []string{"spec.name"}},
		"the administrator": {func(s *SchemaSpec) { s.Name = "root" }, []string{"root is reserved"}},
		"all errors at once": {
			func(s *SchemaSpec) { s.Name, s.Charset = "", "klingon" },
			[]string{"spec.name", `spec.charset: "klingon"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := orders
			test.change(&spec)
			err := Schemas{}.Validate(spec)
			if (err != nil) != (test.want != nil) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			for _, want := range test.want {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q", err, want)
				}
			}
		})
	}
}

func TestNamesAreQuoted(t *testing.T) {
	if got, want := quoted("a`; DROP DATABASE `b"), "`a``; DROP DATABASE ``b`"; got != want {
		t.Errorf("quoted %s, want %s", got, want)
	}
}

func TestSchemaIsIdentifiedByItsName(t *testing.T) {
	if id := (Schemas{}).Identify(orders); id != "orders" {
		t.Errorf("the id is %q", id)
	}
	renamed := orders
	renamed.Name, renamed.Charset = "shop", "latin1"
	if got := (Schemas{}).ImmutableChanges(orders, renamed); !reflect.DeepEqual(got, []string{"spec.name"}) {
		t.Errorf("immutable changes %v, want the name", got)
	}
	renamed.Name = orders.Name
	if got := (Schemas{}).ImmutableChanges(orders, renamed); got != nil {
		t.Errorf("immutable changes %v, want none", got)
	}
}

func TestErrorWithAPasswordHasNoTextOfTheServer(t *testing.T) {
	err := withoutStatement(&mysql.MySQLError{Number: 1064, Message: "syntax error near 'hunter2'"})
	if !isError(err, 1064) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
	if other := errors.New("connection reset"); !errors.Is(withoutStatement(other), other) {
		t.Error("another error was changed")
	}
}
