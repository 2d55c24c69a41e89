package series

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Random use beside a model: many values under few hashes, so that they push
// each other around the end.
func TestTableAgainstModel(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		var x table[int]
		model := make(map[*int]uint64)
		hashes := 1 + rnd.IntN(40)
		find := func(hash uint64, v *int) int {
			for i := x.first(hash); i >= 0; i = x.after(i, hash) {
				if x.slots[i].value == v {
					return i
				}
			}
			return -1
		}
		for range 400 {
			switch rnd.IntN(10) {
			case 0, 1, 2, 3:
				v, hash := new(int), uint64(rnd.IntN(hashes))
				require.Equal(t, -1, find(hash, v))
				x.add(hash, v)
				model[v] = hash
			case 4, 5, 6:
				for v, hash := range model {
					x.remove(find(hash, v))
					delete(model, v)
					break
				}
			case 7:
				if rnd.IntN(20) == 0 {
					x.filter(func(v *int) bool { return model[v]%3 != 0 })
					for v, hash := range model {
						if hash%3 == 0 {
							delete(model, v)
						}
					}
				}
			default:
				seen := 0
				require.True(t, x.each(func(v *int) bool {
					require.Contains(t, model, v)
					seen++
					return true
				}))
				require.Equal(t, len(model), seen)
			}
			require.Equal(t, len(model), x.n)
			for v, hash := range model {
				require.GreaterOrEqual(t, find(hash, v), 0)
			}
		}
		x.filter(func(*int) bool { return false })
		require.Empty(t, x.slots)
		require.Equal(t, -1, x.first(1))
	}
}
