package fetch_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

func pack(t *testing.T, content string) (archive []byte, digest string) {
	t.Helper()
	archive, err := source.Pack(fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte(content)}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	return archive, hex.EncodeToString(sum[:])
}

// server records the requests that it receives.
type server struct {
	*httptest.Server
	requests []*http.Request
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests = append(s.requests, r)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func gives(archive []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }
}

// isPassing reports whether an error is temporary, and after which delay to retry.
func isPassing(err error) (after time.Duration, passing bool) {
	var retry interface{ RetryAfter() time.Duration }
	if !errors.As(err, &retry) {
		return 0, false
	}
	return retry.RetryAfter(), true
}

func TestAnArchiveIsFetchedOnceWhateverItsURL(t *testing.T) {
	archive, digest := pack(t, "a: b")
	s := serve(t, gives(archive))
	h := fetch.NewHTTP(fetch.Options{})
	for _, path := range []string{"/a.tgz", "/b.tgz"} {
		files, err := h.Fetch(t.Context(), metav1alpha1.SourceReference{URL: s.URL + path, SHA256: digest})
		if err != nil {
			t.Fatal(err)
		}
		if content, err := fs.ReadFile(files, "a.yaml"); err != nil || string(content) != "a: b" {
			t.Errorf("got %q, %v", content, err)
		}
	}
	if len(s.requests) != 1 {
		t.Errorf("got %d requests", len(s.requests))
	}
	if _, found := h.Fetched(t.Context(), metav1alpha1.SourceReference{SHA256: digest}); !found {
		t.Error("the fetched archive is not in the cache")
	}
}

func TestAnArchiveThatIsDeclaredAsCompressedInTransitKeepsItsDigest(t *testing.T) {
	archive, digest := pack(t, "a: b")
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(archive)
	})
	ref := metav1alpha1.SourceReference{URL: s.URL, SHA256: digest}
	if _, err := fetch.NewHTTP(fetch.Options{}).Fetch(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

func TestWhatHasAnotherDigestIsRefusedAndNotFetchedAgainUntilItChanges(t *testing.T) {
	archive, digest := pack(t, "a: b")
	wrong, wrongDigest := pack(t, "a: c")
	current, tag := wrong, `"1"`
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(current)
	})
	h, ref := fetch.NewHTTP(
		fetch.Options{},
	), metav1alpha1.SourceReference{
		URL:    s.URL + "/a.tgz?token=hidden",
		SHA256: digest,
	}
	want := s.URL + "/a.tgz: the archive has the SHA-256 digest " + wrongDigest + ", but the component specifies " +
		digest +
		": put the right archive there, or the right digest into the component"
	for _, header := range []string{"", tag} {
		_, err := h.Fetch(t.Context(), ref)
		if _, passing := isPassing(err); err == nil || err.Error() != want || passing {
			t.Errorf("got %v", err)
		}
		if got := s.requests[len(s.requests)-1].Header.Get("If-None-Match"); got != header {
			t.Errorf("If-None-Match: got %q, want %q", got, header)
		}
	}
	if _, err := h.Fetch(t.Context(), metav1alpha1.SourceReference{URL: ref.URL, SHA256: wrongDigest}); err != nil {
		t.Errorf("fetch with the digest of the current archive: %v", err)
	}
	current, tag = archive, `"2"`
	if _, err := h.Fetch(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatIsNoArchiveSaysWhatToDo(t *testing.T) {
	archive, digest := pack(t, strings.Repeat("a", 5000))
	garbage := []byte("<html>Sign in</html>")
	sum := sha256.Sum256(garbage)
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		digest  string
		want    string
		passing bool
		after   time.Duration
	}{
		"not found": {answer: http.NotFound, want: "the server answered 404 Not Found; check the URL"},
		"forbidden": {
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			want: "the server answered 403 Forbidden; the archive must be public: it is " +
				"requested without credentials",
		},
		"bad gateway": {
			answer:  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			want:    "the server answered 502 Bad Gateway",
			passing: true,
		},
		"busy": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
			},
			want: "the server answered 429 Too Many Requests", passing: true, after: 7 * time.Second,
		},
		"broken off": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write(archive[:10])
			},
			want: "unexpected EOF", passing: true,
		},
		"too large by the header Content-Length": {
			answer: gives(make([]byte, 1025)),
			want:   "the archive is larger than the limit of 1024 bytes",
		},
		"too large without a header Content-Length": {
			answer: chunks(1025),
			want:   "the archive is larger than the limit of 1024 bytes",
		},
		"no archive": {
			answer: gives(garbage), digest: hex.EncodeToString(sum[:]),
			want: "not a .tgz archive: gzip: invalid header",
		},
		"too large after unpacking": {
			answer: gives(archive),
			want:   `entry "a.yaml": it holds 5000 bytes, more than the limit of 4096 for a file`,
		},
		"endless redirects": {
			answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) },
			want:   "redirect refused: more than 5 redirects",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.digest == "" {
				c.digest = digest
			}
			s := serve(t, c.answer)
			h := fetch.NewHTTP(fetch.Options{ArchiveBytes: 1024, Limits: source.Limits{FileBytes: 4096}})
			_, err := h.Fetch(t.Context(), metav1alpha1.SourceReference{URL: s.URL, SHA256: c.digest})
			if want := s.URL + ": " + c.want; err == nil || err.Error() != want {
				t.Errorf("want %s, got %v", want, err)
			}
			if after, passing := isPassing(err); passing != c.passing || after != c.after {
				t.Errorf("passing %t after %s", passing, after)
			}
		})
	}
}

// chunks responds with size bytes and without the header Content-Length.
func chunks(size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(make([]byte, size))
	}
}

func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := fetch.NewHTTP(fetch.Options{Timeout: 20 * time.Millisecond}).
		Fetch(t.Context(), metav1alpha1.SourceReference{URL: s.URL + "?token=hidden"})
	if _, passing := isPassing(err); !passing || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatIsNotThereMayComeBack(t *testing.T) {
	s := serve(t, http.NotFound)
	s.Close()
	_, err := fetch.NewHTTP(fetch.Options{}).Fetch(t.Context(), metav1alpha1.SourceReference{URL: s.URL})
	if _, passing := isPassing(err); !passing {
		t.Errorf("got %v", err)
	}
}

func TestProtectionIsNotGivenUp(t *testing.T) {
	archive, digest := pack(t, "a: b")
	plain := serve(t, gives(archive))
	protected := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(protected.Close)
	ref := metav1alpha1.SourceReference{URL: protected.URL, SHA256: digest}
	for want, transport := range map[string]http.RoundTripper{
		"redirect refused: the server redirects from https to http": protected.Client().Transport,
		"the server is not trusted: ":                               nil,
	} {
		_, err := fetch.NewHTTP(fetch.Options{Transport: transport}).Fetch(t.Context(), ref)
		if _, passing := isPassing(err); err == nil || !strings.Contains(err.Error(), want) || passing {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if len(plain.requests) != 0 {
		t.Error("the redirect to http was followed")
	}
}
