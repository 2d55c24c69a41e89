package promapi

import (
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// Bounds on a query's text. Parsing costs the square of the depth, and happens
// before any timeout of the engine.
const (
	maxQueryBytes = 64 << 10
	maxQueryDepth = 256
)

// maxSubquerySteps bounds the points of one series that a subquery makes up. The
// engine allocates them before it counts samples.
const maxSubquerySteps = 1_000_000

// parse parses an expression that is not larger than people's are.
func (a *API) parse(text string) (parser.Expr, error) {
	if len(text) > maxQueryBytes {
		return nil, fmt.Errorf("query of %d bytes is longer than %d", len(text), maxQueryBytes)
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth > maxQueryDepth {
			return nil, fmt.Errorf("query nests deeper than %d levels", maxQueryDepth)
		}
	}
	expr, err := a.parser.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.SubqueryExpr); ok && err == nil {
			step := s.Step
			if step <= 0 {
				step = time.Minute
			}
			if s.Range/step > maxSubquerySteps {
				err = fmt.Errorf("subquery %s has more than %d steps", s.String(), maxSubquerySteps)
			}
		}
		return nil
	})
	return expr, err
}
