// Package imports contains the table of which package may import which (rules.go), and checks the code against it. A
// new package of api, pkg or internal needs a row in the table. Comments of packages and other pages do not repeat the
// rules.
//
// The package also checks that a package says in its doc.go what it contains and which rule it enforces (docfiles.go).
package imports
