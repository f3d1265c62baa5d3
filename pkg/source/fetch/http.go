package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"k8s.io/utils/lru"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// What applies where Options are silent.
const (
	DefaultTimeout      = time.Minute
	DefaultArchiveBytes = 32 << 20
)

// The bounds of what is kept in memory: 64 MiB of archives, and what servers said of archives that were not the right ones.
const (
	keptArchives     = 16
	keptArchiveBytes = 4 << 20
	keptMisses       = 256
)

// responseTimeout is how long a server may take until it begins to answer: one that is out of order should not hold up others for long.
const responseTimeout = 15 * time.Second

// maxRedirects is how often a server may send us elsewhere.
const maxRedirects = 5

// Options configure an HTTP. The zero value is usable.
type Options struct {
	// Timeout ends a download; one minute by default.
	Timeout time.Duration
	// ArchiveBytes is the size of the largest archive, packed; 32 MiB by default.
	ArchiveBytes int64
	// Limits bound what is in an archive.
	Limits source.Limits
	// Transport sends the requests. By default it is that of net/http, with the proxies and the certificate authorities that the environment
	// and the system name.
	Transport http.RoundTripper
}

// HTTP gets .tgz archives by HTTP and HTTPS. It is a component.Fetcher, and safe for concurrent use.
//
// What has another digest than it should is refused. A digest that was fetched is not fetched again while it is remembered, whatever its
// URL. At most five redirects are followed, none from https to http.
//
// The error of Fetch has a method RetryAfter where trying again may help: the server cannot be reached, answers with 408, 429 or 5xx, or
// breaks off.
type HTTP struct {
	client   *http.Client
	options  Options
	archives *lru.Cache
	misses   *lru.Cache
}

// NewHTTP returns an HTTP.
func NewHTTP(o Options) *HTTP {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.ArchiveBytes <= 0 {
		o.ArchiveBytes = DefaultArchiveBytes
	}
	if o.Transport == nil {
		o.Transport = defaultTransport()
	}
	return &HTTP{
		client:  &http.Client{Transport: o.Transport, Timeout: o.Timeout, CheckRedirect: checkRedirect},
		options: o, archives: lru.New(keptArchives), misses: lru.New(keptMisses),
	}
}

// defaultTransport is that of net/http, but takes archives as they are: one that a server declares as compressed in transit would be
// unpacked on the way, and have another digest.
func defaultTransport() http.RoundTripper {
	known, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	transport := known.Clone()
	transport.DisableCompression = true
	transport.ResponseHeaderTimeout = responseTimeout
	return transport
}

// checkRedirect bounds redirects, and keeps them from giving up the protection that the URL asks for.
func checkRedirect(request *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", errRedirect, maxRedirects)
	case via[len(via)-1].URL.Scheme == "https" && request.URL.Scheme != "https":
		return fmt.Errorf("%w: the server redirects from https to %s", errRedirect, request.URL.Scheme)
	}
	return nil
}

// Fetched returns a source that is remembered.
func (h *HTTP) Fetched(ref metav1alpha1.SourceReference) (fs.FS, bool) {
	kept, _ := h.archives.Get(ref.SHA256)
	archive, ok := kept.([]byte)
	if !ok {
		return nil, false
	}
	files, err := source.Unpack(archive, h.options.Limits)
	return files, err == nil
}

// Fetch gets a source.
func (h *HTTP) Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error) {
	if files, found := h.Fetched(ref); found {
		return files, nil
	}
	files, err := h.fetch(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Location(), err)
	}
	return files, nil
}

func (h *HTTP) fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ref.URL, http.NoBody)
	if err != nil {
		return nil, errors.New("this is no URL that can be requested")
	}
	missed := h.missed(ref.URL)
	missed.ask(request, ref.SHA256)
	response, err := h.client.Do(request)
	if err != nil {
		return nil, unreached(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotModified && missed.digest != "" {
		return nil, mismatch(missed.digest, ref.SHA256)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refused(response)
	}
	archive, err := h.read(response)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(archive)
	if digest := hex.EncodeToString(sum[:]); digest != ref.SHA256 {
		h.misses.Add(ref.URL, missOf(response, digest))
		return nil, mismatch(digest, ref.SHA256)
	}
	files, err := source.Unpack(archive, h.options.Limits)
	if err == nil && len(archive) <= keptArchiveBytes {
		h.archives.Add(ref.SHA256, archive)
	}
	return files, err
}

// read reads an archive, as long as it is not too large.
func (h *HTTP) read(response *http.Response) ([]byte, error) {
	tooLarge := fmt.Errorf("the archive is larger than the limit of %d bytes", h.options.ArchiveBytes)
	if response.ContentLength > h.options.ArchiveBytes {
		return nil, tooLarge
	}
	archive, err := io.ReadAll(io.LimitReader(response.Body, h.options.ArchiveBytes+1))
	if err != nil {
		return nil, unreached(err)
	}
	if int64(len(archive)) > h.options.ArchiveBytes {
		return nil, tooLarge
	}
	return archive, nil
}

func mismatch(got, want string) error {
	return fmt.Errorf("the archive has the SHA-256 digest %s, and the component wants %s: put the right archive there, or the right digest into the component", got, want)
}
