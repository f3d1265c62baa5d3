package download_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/source"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

func archive(t *testing.T) (data []byte, digest string) {
	t.Helper()
	data, err := source.Pack(fstest.MapFS{"a.yaml": {Data: []byte("a: b")}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:])
}

func TestAnArchiveHasTheDigestOfItsBytes(t *testing.T) {
	data, digest := archive(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	t.Cleanup(server.Close)
	for _, want := range []string{"", digest} {
		got, err := download.Get(t.Context(), server.URL+"/a.tgz", want)
		if err != nil {
			t.Fatal(err)
		}
		content, err := fs.ReadFile(got.Files, "a.yaml")
		if err != nil || string(content) != "a: b" || got.SHA256 != digest {
			t.Errorf("got %q with the digest %s, %v", content, got.SHA256, err)
		}
	}
}

func TestWhatIsNoArchiveOfAPublicServerIsRefused(t *testing.T) {
	data, digest := archive(t)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	other := strings.Repeat("0", 64)
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		// url replaces the address of the server, whose host it may name as HOST.
		url, digest, want string
		code              exit.Code
	}{
		{
			name: "not found", answer: http.NotFound, want: "the server answered 404 Not Found; check the URL",
			code: exit.Misuse,
		},
		{
			name:   "not public",
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			want:   "the archive must be public", code: exit.Misuse,
		},
		{
			name:   "an overloaded server",
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			want:   "the server answered 503 Service Unavailable", code: exit.NotAsked,
		},
		{
			name:   "no archive",
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>Sign in</html>")) },
			want:   "not a .tgz archive", code: exit.Misuse,
		},
		{
			name: "too large",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(make([]byte, fetch.DefaultArchiveBytes+1))
			},
			want: "larger than the limit of 33554432 bytes", code: exit.Misuse,
		},
		{
			name: "another digest", digest: other,
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) },
			want:   "the archive has the SHA-256 digest " + digest + ", want " + other, code: exit.Misuse,
		},
		{
			name: "a redirect to another scheme",
			answer: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "ftp://example.com/a.tgz", http.StatusFound)
			},
			want: "unsupported protocol scheme", code: exit.NotAsked,
		},
		{
			name: "a user", url: "http://me:hidden@HOST/a.tgz", want: "download the archive, and name the file",
			code: exit.Misuse,
		},
		{
			name: "a user alone", url: "http://hidden@HOST/a.tgz", want: "download the archive, and name the file",
			code: exit.Misuse,
		},
		{name: "a registry", url: "oci://HOST/charts/a", want: "download the chart with helm pull", code: exit.Misuse},
		{name: "a repository", url: "git+ssh://git@HOST/a", want: "want an http or https URL", code: exit.Misuse},
		{name: "no host", url: "https:///a.tgz", want: "want an http or https URL", code: exit.Misuse},
		{name: "no URL", url: "http://HOST/%zz?hidden", want: "the URL of the source cannot be read", code: exit.Misuse},
		{name: "a server that is not trusted", url: secure.URL, want: "the server is not trusted", code: exit.Misuse},
		{
			name: "no server", url: "http://127.0.0.1:1/a.tgz?token=hidden", want: "http://127.0.0.1:1/a.tgz: ",
			code: exit.NotAsked,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = true
				c.answer(w, r)
			}))
			t.Cleanup(server.Close)
			place := server.URL + "/a.tgz?token=hidden"
			if c.url != "" {
				place = strings.ReplaceAll(c.url, "HOST", strings.TrimPrefix(server.URL, "http://"))
			}
			_, err := download.Get(t.Context(), place, c.digest)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("want %s, got %v", c.want, err)
			}
			if code := exit.CodeOf(err); code != c.code {
				t.Errorf("got the exit code %d", code)
			}
			if asked == (c.answer == nil) {
				t.Errorf("a request was sent: %t", asked)
			}
		})
	}
}

func TestAnInterruptedDownloadIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	if _, err := download.Get(ctx, server.URL, ""); !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("got %v", err)
	}
}
