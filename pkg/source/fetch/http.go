package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"k8s.io/utils/lru"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/addresses"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// Defaults of Options.
const (
	DefaultTimeout      = time.Minute
	DefaultArchiveBytes = 32 << 20
)

// Limits of the two caches. One cache holds unpacked archives, of at most 64 MiB in sum. The other holds the validators
// of responses whose archive had the wrong digest.
const (
	keptArchives     = 16
	keptArchiveBytes = 4 << 20
	keptMisses       = 256
)

// responseTimeout is the maximum time until the response header. It is shorter than the timeout of a download, so that
// a server that does not answer delays other fetches only briefly.
const responseTimeout = 15 * time.Second

// maxRedirects is the maximum number of redirects.
const maxRedirects = 5

// Options configures an HTTP. The zero value is usable.
type Options struct {
	// Timeout is the maximum duration of a download; one minute by default.
	Timeout time.Duration
	// ArchiveBytes is the maximum size of a packed archive; 32 MiB by default.
	ArchiveBytes int64
	// Limits limits the content of an archive.
	Limits source.Limits
	// Transport sends the requests. The default is the transport of net/http, with the proxies of the environment and
	// the certificate authorities of the system.
	Transport http.RoundTripper
	// Addresses limits the addresses to which the client connects, also after redirects. Nil means no limit. It needs a
	// Transport that is nil or a *http.Transport, because other transports dial by themselves. With another Transport,
	// each fetch is an error.
	Addresses *addresses.Policy
}

// HTTP fetches .tgz archives by HTTP and HTTPS. It is a component.Fetcher, and safe for concurrent use.
//
// An archive whose digest differs from the digest in the reference is refused. An archive in the cache is found by its
// digest and is not fetched again, even for another URL. At most five redirects are followed, and no redirect from
// https to http.
//
// The error of Fetch has a method RetryAfter if it is transient: the server is unreachable, responds with 408, 429 or
// 5xx, or closes the connection early.
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
	if o.Addresses != nil {
		o.Transport = limited(o.Transport, *o.Addresses)
	}
	return &HTTP{
		client:  &http.Client{Transport: o.Transport, Timeout: o.Timeout, CheckRedirect: checkRedirect},
		options: o, archives: lru.New(keptArchives), misses: lru.New(keptMisses),
	}
}

// defaultTransport returns a copy of the default transport of net/http that does not decompress responses.
// Decompressing a response in transit would change the digest of the archive.
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

// limited returns a transport that connects only to addresses that a policy allows.
func limited(transport http.RoundTripper, policy addresses.Policy) http.RoundTripper {
	known, ok := transport.(*http.Transport)
	if !ok {
		return unlimited{}
	}
	if known.OnProxyConnectResponse == nil {
		known = known.Clone()
		known.OnProxyConnectResponse = checkProxyAnswer
	}
	return policy.Transport(known)
}

// unlimited stands for a transport whose addresses cannot be limited. It sends no request.
type unlimited struct{}

// RoundTrip implements http.RoundTripper.
func (unlimited) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnlimited }

// checkRedirect limits the number of redirects, and refuses redirects from https to http.
func checkRedirect(request *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", errRedirect, maxRedirects)
	case via[len(via)-1].URL.Scheme != "https", request.URL.Scheme == "https":
		return nil
	case request.URL.Scheme == "http":
		return fmt.Errorf("%w: the server redirects from https to http", errRedirect)
	}
	// The server chose the text of the scheme.
	return fmt.Errorf("%w: the server redirects from https to another scheme", errRedirect)
}

// Fetched returns a source from the cache.
func (h *HTTP) Fetched(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, bool) {
	files, err := h.fetched(ctx, ref)
	return files, err == nil && files != nil
}

// fetched returns a source from the cache, or nil if the cache does not contain it.
func (h *HTTP) fetched(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error) {
	kept, _ := h.archives.Get(ref.SHA256)
	archive, ok := kept.([]byte)
	if !ok {
		return nil, nil
	}
	return h.unpack(ctx, archive)
}

// unpack unpacks an archive, and reserves memory for its files.
func (h *HTTP) unpack(ctx context.Context, archive []byte) (fs.FS, error) {
	limits := h.options.Limits
	limits.Reserve = func(bytes int64) error { return budget.Reserve(ctx, bytes) }
	return source.Unpack(archive, limits)
}

// Fetch returns the source of ref, from the cache or from the server.
func (h *HTTP) Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error) {
	if files, err := h.fetched(ctx, ref); files != nil || budget.Refused(err) {
		return files, err
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
		return nil, errors.New("the URL is not valid")
	}
	missed := h.missed(ref.URL)
	missed.ask(request, ref.SHA256)
	response, err := h.client.Do(request)
	if err != nil {
		return nil, h.unreached(err, request.URL.String())
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotModified && missed.digest != "" {
		return nil, mismatch(missed.digest, ref.SHA256)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refused(response)
	}
	archive, err := h.read(ctx, response)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(archive)
	if digest := hex.EncodeToString(sum[:]); digest != ref.SHA256 {
		h.misses.Add(ref.URL, missOf(response, digest))
		return nil, mismatch(digest, ref.SHA256)
	}
	files, err := h.unpack(ctx, archive)
	if err == nil && len(archive) <= keptArchiveBytes {
		h.archives.Add(ref.SHA256, archive)
	}
	return files, err
}

// Get returns the body of a response to a GET request, of at most limit bytes. The limits of time and redirects, and
// the classification of errors, are those of Fetch. Errors name the server, and never contain the body.
func (h *HTTP) Get(ctx context.Context, url string, limit int64) ([]byte, error) {
	body, err := h.get(ctx, url, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metav1alpha1.SourceReference{URL: url}.Location(), err)
	}
	return body, nil
}

func (h *HTTP) get(ctx context.Context, url string, limit int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	response, err := h.client.Do(request)
	if err != nil {
		return nil, h.unreached(err, request.URL.String())
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, refused(response)
	}
	body, err := budget.ReadAll(ctx, response.Body, limit)
	switch {
	case budget.Refused(err):
		return nil, err
	case err != nil:
		return nil, h.unreached(err, "")
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("the response is larger than the limit of %d bytes", limit)
	}
	return body, nil
}

// read reads an archive, up to the maximum size.
func (h *HTTP) read(ctx context.Context, response *http.Response) ([]byte, error) {
	tooLarge := fmt.Errorf("the archive is larger than the limit of %d bytes", h.options.ArchiveBytes)
	if response.ContentLength > h.options.ArchiveBytes {
		return nil, tooLarge
	}
	archive, err := budget.ReadAll(ctx, response.Body, h.options.ArchiveBytes)
	if budget.Refused(err) {
		return nil, err
	}
	if err != nil {
		return nil, h.unreached(err, "")
	}
	if int64(len(archive)) > h.options.ArchiveBytes {
		return nil, tooLarge
	}
	return archive, nil
}

func mismatch(got, want string) error {
	return fmt.Errorf(
		"the archive has the SHA-256 digest %s, but the component specifies %s: put the right archive there, or the right "+
			"digest into the component",
		got,
		want,
	)
}
