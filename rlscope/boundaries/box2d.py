"""Box2D: the calls of a world and its bodies that compute; reading and setting of attributes is not one."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

WORLD = ("Step", "ClearForces", "QueryAABB", "RayCast", "DestroyBody", "DestroyJoint", "DrawDebugData")
BODY = ("ApplyForce", "ApplyTorque", "ApplyLinearImpulse", "ApplyAngularImpulse", "DestroyFixture")

BOUNDARY = Boundary(
    library="Box2D",
    category=Category.SIMULATOR,
    functions=(*(f"Box2D.b2World.{name}" for name in WORLD), *(f"Box2D.b2Body.{name}" for name in BODY)),
)
