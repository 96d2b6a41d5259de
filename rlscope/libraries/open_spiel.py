"""OpenSpiel: moves, what is legal, what is observed, how games end; questions about the kind of position do no work."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary

ABOUT_A_STATE = frozenset(
    """
    __init__ _pybind11_conduit_v1_ current_player get_game get_type is_chance_node is_initial_non_chance_state
    is_initial_state is_mean_field_node is_player_node is_simultaneous_node move_number num_distinct_actions num_players
    """.split()
)
BEGINNINGS = ("new_initial_state", "new_initial_states", "new_initial_state_for_population", "deserialize_state")

BOUNDARIES = (
    Boundary(
        library="pyspiel",
        category=Category.SIMULATOR,
        containers=("pyspiel.State",),
        functions=("pyspiel.load_game", *(f"pyspiel.Game.{name}" for name in BEGINNINGS)),
        not_crossings=ABOUT_A_STATE,
    ),
)
