package gateway

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthServer is grpc.health.v1: it says what /-/ready says.
type healthServer struct {
	grpc_health_v1.UnimplementedHealthServer
	g *Gateway
}

// watchInterval is how often a watched health is looked at; a drain is seen at
// once.
const watchInterval = time.Second

// knows reports whether service is one whose health is known. The empty name
// is the whole server.
func (h *healthServer) knows(service string) bool { return service == "" || service == metricsService }

func (h *healthServer) now() grpc_health_v1.HealthCheckResponse_ServingStatus {
	if h.g.ready() != nil {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}

// Check answers at once.
func (h *healthServer) Check(_ context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if !h.knows(r.GetService()) {
		return nil, status.Errorf(codes.NotFound, "unknown service %q", shortenTo(r.GetService(), maxGRPCMessage/2))
	}
	return &grpc_health_v1.HealthCheckResponse{Status: h.now()}, nil
}

// List answers for every service at once.
func (h *healthServer) List(context.Context, *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	r := &grpc_health_v1.HealthCheckResponse{Status: h.now()}
	return &grpc_health_v1.HealthListResponse{
		Statuses: map[string]*grpc_health_v1.HealthCheckResponse{"": r, metricsService: r},
	}, nil
}

// Watch sends the health and then each change. It ends with the drain, which
// has to wait for every stream.
func (h *healthServer) Watch(r *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	known := h.knows(r.GetService())
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	last := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		now := grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
		if known {
			now = h.now()
		}
		if now != last {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-tick.C:
		case <-h.g.drained:
			if known && last != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
				if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: h.now()}); err != nil {
					return err
				}
			}
			return status.Error(codes.Unavailable, "the gateway is shutting down")
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}
