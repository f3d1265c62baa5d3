//go:build long

package test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// startTime is the time in which the server must accept connections.
const startTime = time.Minute

// go-mysql-server has no number for the error of a user without rights.
func TestSchemaInMariaDB(t *testing.T) {
	testKind(t, mariaDB(t), drift{"REVOKE ALL ON `orders-drift`.* FROM 'orders-drift'@'%'", "password"})
}

// mariaDB starts the MariaDB server of Debian with its data in a temporary folder, on a port of the loopback interface,
// and returns the address. The server ends with the test. mariaDB skips the test, and prints "not run", if the server
// is not installed and this process may not install it.
func mariaDB(t *testing.T) string {
	t.Helper()
	program := installed(t)
	dir := t.TempDir()
	port := freePort(t)
	arguments := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data")} // --no-defaults must be the first.
	if os.Geteuid() == 0 {
		arguments = append(arguments, "--user=root")
	}
	install := exec.CommandContext(t.Context(), "mariadb-install-db", append(slices.Clone(arguments),
		"--auth-root-authentication-method=normal", "--skip-test-db")...)
	if output, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, output)
	}
	setup := filepath.Join(dir, "setup.sql")
	statement := fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s';\n"+
		"GRANT ALL PRIVILEGES ON *.* TO %s@'%%' WITH GRANT OPTION;\n",
		adminUser, strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(adminPassword), adminUser)
	if err := os.WriteFile(setup, []byte(statement), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // t.Context ends before the clean-up.
	server := exec.CommandContext(ctx, program, append(slices.Clone(arguments),
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port), "--socket="+filepath.Join(dir, "socket"),
		"--skip-name-resolve", "--init-file="+setup)...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = log, log
	server.Cancel = func() error { return server.Process.Signal(os.Kill) } // The data is not kept.
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait() // It is killed, or its log says why it ends.
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = log.Close()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	awaitServer(t, address, log.Name(), ended)
	return address
}

// installed returns the path of the server. It installs the package of Debian if it is missing.
func installed(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("mariadbd"); err == nil {
		return path
	}
	if os.Geteuid() != 0 {
		t.Skip("not run: mariadb-server is not installed, and only root can install it")
	}
	for _, arguments := range [][]string{
		{"apt-get", "update"},
		{"apt-get", "install", "--yes", "--no-install-recommends", "mariadb-server"},
	} {
		command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
		// The test starts a server of its own.
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(arguments, " "), err, output)
		}
	}
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the address is a %T", listener.Addr())
	}
	return address.Port
}

// awaitServer waits until the server accepts the administrator. It fails the test if the server ends.
func awaitServer(t *testing.T, address, log string, ended <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	_ = mysql.SetLogger(&mysql.NopLogger{}) // Attempts before the server listens are expected to fail.
	db := connect(t, address, adminUser, adminPassword, "")
	for db.PingContext(ctx) != nil {
		select {
		case <-time.After(100 * time.Millisecond):
			continue
		case <-ended:
		case <-ctx.Done():
		}
		text, _ := os.ReadFile(log)
		t.Fatalf("the server does not accept connections:\n%s", text)
	}
}
