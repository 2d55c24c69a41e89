package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	// Line in the file, 1 being the first; 0 when the fault is not in the file.
	Line int
	// Path is the key, as in remote_write[0].url, or the flag with its dashes.
	Path string
	// Value is what was written, for scalars that are no secret.
	Value string
	// Msg says what is wrong with it.
	Msg string
}

// What a fault does not repeat: passwords in URLs, also in ones that cannot be
// parsed, and whatever was written where credentials belong.
var (
	userinfo    = regexp.MustCompile(`//[^/?#\s"]*@`)
	credentials = regexp.MustCompile(`(^|\.)(basic_auth|authorization|oauth2|sigv4|azuread|google_iam|bearer_token|headers|http_headers)($|[.\[])`)
	quoted      = regexp.MustCompile("`[^`]*`")
)

// String returns the fault without the file's name, and without secrets.
func (f Fault) String() string {
	if credentials.MatchString(f.Path) {
		f.Value = ""
		f.Msg = quoted.ReplaceAllString(f.Msg, "`"+hidden+"`")
	}
	return userinfo.ReplaceAllString(f.text(), "//xxxxx@")
}

func (f Fault) text() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	if f.Value != "" {
		b.WriteString(strconv.Quote(f.Value))
		b.WriteString(": ")
	}
	b.WriteString(f.Msg)
	return b.String()
}

// Faults is everything that is wrong, in the order of the file, flags last.
type Faults []Fault

// Error returns one fault a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

func (f Faults) sort() {
	slices.SortStableFunc(f, func(a, b Fault) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Compare(a.Line, b.Line)
	})
}
