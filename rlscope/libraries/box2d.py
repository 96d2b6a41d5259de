"""Box2D: the calls of a world and its bodies that compute; reading and setting of attributes is not one."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary

WORLD = ("Step", "ClearForces", "QueryAABB", "RayCast", "DestroyBody", "DestroyJoint", "DrawDebugData")
BODY = ("ApplyForce", "ApplyTorque", "ApplyLinearImpulse", "ApplyAngularImpulse", "DestroyFixture")

BOUNDARIES = (
    Boundary(
        library="Box2D",
        category=Category.SIMULATOR,
        callbacks=tuple(
            ("Box2D", listener, method)
            for listener, methods in {
                "b2ContactListener": ("BeginContact", "EndContact", "PreSolve", "PostSolve"),
                "b2ContactFilter": ("ShouldCollide",),
                "b2DestructionListener": ("SayGoodbye",),
                "b2QueryCallback": ("ReportFixture",),
                "b2RayCastCallback": ("ReportFixture",),
            }.items()
            for method in methods
        ),
        functions=(*(f"Box2D.b2World.{name}" for name in WORLD), *(f"Box2D.b2Body.{name}" for name in BODY)),
    ),
)
