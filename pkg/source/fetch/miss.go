package fetch

import "net/http"

// miss holds the validators of a response whose archive had the wrong digest. The next request for the URL sends these
// validators. As long as the archive is unchanged, the server answers without the archive.
type miss struct {
	digest, etag, modified string
}

func missOf(response *http.Response, digest string) miss {
	return miss{digest: digest, etag: response.Header.Get("ETag"), modified: response.Header.Get("Last-Modified")}
}

// missed returns the stored miss for a URL, or the zero value if no miss is stored.
func (h *HTTP) missed(url string) miss {
	known, _ := h.misses.Get(url)
	m, _ := known.(miss)
	return m
}

// ask adds the validators to a request, so that the server sends the archive only if it has changed since the miss.
func (m miss) ask(request *http.Request, wanted string) {
	if m.digest == "" || m.digest == wanted {
		return
	}
	if m.etag != "" {
		request.Header.Set("If-None-Match", m.etag)
	}
	if m.modified != "" {
		request.Header.Set("If-Modified-Since", m.modified)
	}
}
