package test

import (
	"io"
	"net"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/sirupsen/logrus"
)

const (
	adminUser     = "admin"
	adminPassword = "admin's \\ password"
)

// inProcess starts go-mysql-server on a port of the loopback interface, and returns its address.
func inProcess(t testing.TB) string {
	t.Helper()
	logrus.SetOutput(io.Discard) // The server logs each connection.
	provider := memory.NewDBProvider()
	engine := sqle.NewDefault(provider)
	users := engine.Analyzer.Catalog.MySQLDb
	editor := users.Editor()
	users.AddSuperUser(editor, adminUser, "%", adminPassword)
	editor.Close()
	users.SetPersister(&mysql_db.NoopPersister{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(server.Config{Listener: listener}, engine, sql.NewContext,
		memory.NewSessionBuilder(provider), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Start() }() // It ends with an error when it is closed.
	t.Cleanup(func() { _ = s.Close() })
	return listener.Addr().String()
}
